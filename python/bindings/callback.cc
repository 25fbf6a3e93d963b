// Functions of the program that operators call: from the engine's threads into Python and back.
#include "ops/python/callback.h"

#include "bindings.h"
#include "gil.h"

namespace headrace::python {
namespace {

// The package's functions (headrace/callbacks.py); never dropped.
PyObject* run_function = nullptr;
PyObject* dispatch_function = nullptr;

nb::object call(PyObject* function, std::initializer_list<PyObject*> args) {
  PyObject* result =
      or_sleep_at_exit([&] { return PyObject_Vectorcall(function, args.begin(), args.size(), nullptr); });
  if (!result) nb::raise_python_error();
  return nb::steal(result);
}

nb::list wrap(const std::vector<Ref<Batch>>& batches) {
  nb::list list;
  for (const Ref<Batch>& batch : batches) list.append(nb::cast(PyBatch{batch}));
  return list;
}

// Nothing but the list refers to its array `index`, and nothing but the array to the memory.
bool is_only_reference(nb::list list, Py_ssize_t index) {
  PyObject* array = PyList_GET_ITEM(list.ptr(), index);
  if (Py_REFCNT(array) != 1) return false;
  const nb::object base = nb::handle(array).attr("base");
  if (base.is_none()) return true;
  return Py_TYPE(base.ptr()) == Py_TYPE(array) && Py_REFCNT(base.ptr()) == 2 && base.attr("base").is_none();
}

[[noreturn]] void fail_with(const nb::python_error& error) {
  ErrorKind kind = ErrorKind::kRuntime;
  if (error.matches(PyExc_ValueError)) kind = ErrorKind::kValue;
  if (error.matches(PyExc_TypeError)) kind = ErrorKind::kType;
  if (error.matches(PyExc_MemoryError)) kind = ErrorKind::kMemory;
  // File names that are no UTF-8 have lone surrogates in Python's strings.
  const nb::object text = nb::str(error.value()).attr("encode")("utf-8", "backslashreplace");
  std::string message(nb::bytes(text).c_str());
  // A signal that came while this thread was in the function belongs to the program: it comes again behind this. Not
  // sooner: str() looks at signals, too.
  if (error.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
  throw Error(kind, std::move(message));
}

void run(int64_t function, BatchContext& ctx) {
  const WithGil gil;
  drop_released_objects();
  try {
    const nb::list inputs = wrap(ctx.inputs);
    nb::list writable;
    for (const bool may_write : ctx.writable) writable.append(may_write);
    const nb::int_ number(function);
    const nb::int_ size(ctx.rows->ids.size());
    PyObject* dispatched = ctx.dispatched ? static_cast<PyObject*>(ctx.dispatched.get()) : Py_None;
    const nb::object outputs = call(run_function, {number.ptr(), size.ptr(), inputs.ptr(), writable.ptr(), dispatched});
    ctx.dispatched.reset();
    check_internal(nb::len(outputs) == ctx.outputs.size(), "a callback made {} outputs instead of {}", nb::len(outputs),
                   ctx.outputs.size());
    for (size_t i = 0; i < ctx.outputs.size(); ++i) {
      const nb::object output = outputs[i];  // (data, layout, copy)
      const nb::object layout = output[1];
      ctx.outputs[i] = batch_from(output[0], nb::cast<std::string_view>(layout), nb::cast<bool>(output[2]), ctx.pool);
    }
  } catch (const nb::python_error& error) {
    fail_with(error);
  }
}

void dispatch(int64_t function, std::span<BatchContext> plans) {
  const WithGil gil;
  drop_released_objects();
  try {
    nb::list inputs;
    for (const BatchContext& ctx : plans) inputs.append(wrap(ctx.inputs));
    const nb::int_ number(function);
    const nb::object results = call(dispatch_function, {number.ptr(), inputs.ptr()});
    for (size_t i = 0; i < plans.size(); ++i) plans[i].dispatched = own(nb::object(results[i]));
  } catch (const nb::python_error& error) {
    fail_with(error);
  }
}

}  // namespace

void bind_callbacks(nb::module_& m) {
  m.def("is_only_reference", &is_only_reference, nb::arg("list"), nb::arg("index"),
        "Nothing but the list refers to its numpy array `index`, and nothing but that to the memory.");
  m.def(
      "set_callbacks",
      [](nb::object run_callback, nb::object dispatch_callback) {
        run_function = run_callback.release().ptr();
        dispatch_function = dispatch_callback.release().ptr();
        callback_hooks = {&run, &dispatch};
      },
      nb::arg("run"), nb::arg("dispatch"),
      "Says what the engine calls for operators that are functions of the program.\n\n"
      "run(number, size, inputs, writable, dispatched) -> a tuple (data, layout, copy) for each output;\n"
      "dispatch(number, inputs of each pipeline) -> for each pipeline an object that its run() gets.");
}

}  // namespace headrace::python
