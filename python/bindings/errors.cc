// Errors: each ErrorKind becomes one Python exception class.
#include "bindings.h"
#include "core/error.h"

namespace headrace::python {
namespace {

PyObject* exception_class(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kValue: return PyExc_ValueError;
    case ErrorKind::kType: return PyExc_TypeError;
    case ErrorKind::kIndex: return PyExc_IndexError;
    case ErrorKind::kKey: return PyExc_KeyError;
    case ErrorKind::kOverflow: return PyExc_OverflowError;
    case ErrorKind::kUnsupported: return PyExc_NotImplementedError;
    case ErrorKind::kMemory: return PyExc_MemoryError;
    case ErrorKind::kRuntime:
    case ErrorKind::kInternal: break;
  }
  return PyExc_RuntimeError;
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    const std::string text =
        error.kind() == ErrorKind::kInternal ? "internal error: " + error.message() : error.message();
    // Messages quote the user's bytes, which need not be UTF-8.
    PyObject* message = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
    if (!message) return;
    PyErr_SetObject(exception_class(error.kind()), message);
    Py_DECREF(message);
  }
}

}  // namespace

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace headrace::python
