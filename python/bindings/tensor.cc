// One sample, or a whole dense batch, as a tensor: description, buffer protocol, DLPack.
#include "bindings.h"

namespace headrace::python {
namespace {

// struct-module format characters; 64-bit integers as C long, which numpy calls int64.
const char* buffer_format(DType dtype) {
  switch (dtype) {
    case DType::kUInt8: return "B";
    case DType::kUInt16: return "H";
    case DType::kUInt32: return "I";
    case DType::kUInt64: return "L";
    case DType::kInt8: return "b";
    case DType::kInt16: return "h";
    case DType::kInt32: return "i";
    case DType::kInt64: return "l";
    case DType::kFloat16: return "e";
    case DType::kFloat32: return "f";
    case DType::kFloat64: return "d";
    case DType::kBool: return "?";
    case DType::kBFloat16:
    case DType::kNone: break;
  }
  return nullptr;
}

struct BufferExtents {
  Py_ssize_t shape[Shape::kMaxDims];
  Py_ssize_t strides[Shape::kMaxDims];
};

int get_buffer(PyObject* self, Py_buffer* view, int) {
  view->obj = nullptr;
  if (!nb::inst_ready(self)) {
    PyErr_SetString(PyExc_BufferError, "a tensor whose __init__ was not called has no memory");
    return -1;
  }
  const Sample& sample = nb::inst_ptr<PyTensor>(self)->sample;
  const char* format = buffer_format(sample.dtype);
  if (!format) {
    PyErr_SetString(PyExc_BufferError, sample.dtype == DType::kNone
                                           ? "an empty batch without an element type has no array"
                                           : "the buffer protocol has no bfloat16; use __dlpack__ or as_array()");
    return -1;
  }
  auto* extents = new BufferExtents;
  auto stride = static_cast<Py_ssize_t>(dtype_size(sample.dtype));
  for (int axis = sample.shape.ndim() - 1; axis >= 0; --axis) {
    extents->shape[axis] = sample.shape[axis];
    extents->strides[axis] = stride;
    stride *= sample.shape[axis];
  }
  static char empty;
  view->obj = Py_NewRef(self);
  view->buf = sample.data ? sample.data : &empty;
  view->len = static_cast<Py_ssize_t>(sample.bytes());
  view->itemsize = static_cast<Py_ssize_t>(dtype_size(sample.dtype));
  view->readonly = 0;
  view->ndim = sample.shape.ndim();
  view->format = const_cast<char*>(format);
  view->shape = extents->shape;
  view->strides = extents->strides;
  view->suboffsets = nullptr;
  view->internal = extents;
  return 0;
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<BufferExtents*>(view->internal); }

PyType_Slot kSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                        {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                        {0, nullptr}};

// Another description of the same memory.
PyTensor described(const PyTensor& self, DType dtype, const Shape& shape, const Layout& layout) {
  check_value(layout.empty() || layout.ndim() == shape.ndim(),
              "layout \"{}\" has {} letters, but the tensor has {} axes", layout, layout.ndim(), shape.ndim());
  PyTensor made = self;
  made.sample.dtype = dtype;
  made.sample.shape = shape;
  made.sample.layout = layout;
  check(made.sample.bytes() == self.sample.bytes(), "shape {} of {} needs {} bytes, but the tensor has {}", shape,
        dtype_name(dtype), made.sample.bytes(), self.sample.bytes());
  return made;
}

}  // namespace

nb::tuple shape_tuple(const Shape& shape) {
  nb::object tuple = nb::steal(PyTuple_New(shape.ndim()));
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    PyTuple_SET_ITEM(tuple.ptr(), axis, PyLong_FromLongLong(shape[axis]));
  }
  return nb::cast<nb::tuple>(tuple);
}

Shape shape_from(nb::handle extents) {
  Shape shape;
  for (nb::handle extent : extents) {
    int64_t value = 0;
    if (!nb::try_cast(extent, value)) {
      fail(ErrorKind::kType, "shape: expected integers of 64 bits, got {}", nb::repr(extent).c_str());
    }
    shape.push_back(value);
  }
  checked_volume(shape, 1, "shape");
  return shape;
}

void bind_tensor(nb::module_& m) {
  nb::class_<PyTensor>(m, "Tensor", "A dense tensor in CPU memory that belongs to a batch.", nb::type_slots(kSlots))
      .def(nb::init<const PyTensor&>(), nb::arg("other"))
      .def(
          "__init__",
          [](PyTensor* self, nb::handle data, std::string_view layout, bool copy) {
            Ref<Batch> batch = batch_of_one(data, layout, copy, import_pool());
            new (self) PyTensor{(*batch)[0], batch};
          },
          nb::arg("data").none(), nb::arg("layout"), nb::arg("copy"))
      .def_prop_ro("_dtype", [](const PyTensor& self) { return static_cast<int>(self.sample.dtype); })
      .def_prop_ro("_shape", [](const PyTensor& self) { return shape_tuple(self.sample.shape); })
      .def_prop_ro("_layout", [](const PyTensor& self) { return self.sample.layout.str(); })
      .def_prop_ro("_data_ptr", [](const PyTensor& self) { return reinterpret_cast<uintptr_t>(self.sample.data); })
      .def_prop_ro("_source", [](const PyTensor& self) { return self.sample.source.name(); })
      .def(
          "_describe",
          [](PyTensor& self, int dtype, nb::handle shape, std::string_view layout) {
            self = described(self, static_cast<DType>(dtype), shape_from(shape), Layout(layout));
          },
          nb::arg("dtype"), nb::arg("shape"), nb::arg("layout"), "Changes type, shape and layout, not the bytes.")
      .def(
          "__dlpack__",
          [](const PyTensor& self, nb::handle, nb::handle max_version, nb::handle dl_device, nb::handle copy) {
            return export_dlpack(self.sample, self.batch, max_version, dl_device, copy);
          },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
          nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(),
          "A DLPack capsule of this tensor's memory; `stream` has no meaning for CPU memory.")
      .def("__dlpack_device__", [](const PyTensor&) { return nb::make_tuple(1, 0); });
}

}  // namespace headrace::python
