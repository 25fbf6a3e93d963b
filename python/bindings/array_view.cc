// ArrayView: taking over buffers and DLPack capsules, strided copies, and giving Python objects back.
#include "array_view.h"

#include <cstring>
#include <mutex>
#include <vector>

#include "dlpack.h"

namespace headrace::python {
namespace {

// What keeps foreign memory, and how to let it go; that needs the GIL.
struct Owner {
  void* object;
  void (*release)(void*);
};

// Owners whose last user was a thread without the GIL; never destroyed, since batches may outlive the interpreter.
struct Released {
  std::mutex mutex;
  std::vector<Owner> owners;
};
Released& released() {
  static auto* const list = new Released;
  return *list;
}

std::shared_ptr<void> shared_owner(Owner owner) {
  return {owner.object, [release = owner.release](void* object) {
            if (!Py_IsInitialized()) return;
            if (PyGILState_Check()) return release(object);
            const std::lock_guard lock(released().mutex);
            released().owners.push_back({object, release});
          }};
}

void release_buffer(void* object) {
  auto* buffer = static_cast<Py_buffer*>(object);
  PyBuffer_Release(buffer);
  delete buffer;
}

void release_managed(void* object) {
  auto* managed = static_cast<dlpack::Managed*>(object);
  if (managed->deleter) managed->deleter(managed);
}

DType integer_of(bool is_signed, int64_t size) {
  switch (size) {
    case 1: return is_signed ? DType::kInt8 : DType::kUInt8;
    case 2: return is_signed ? DType::kInt16 : DType::kUInt16;
    case 4: return is_signed ? DType::kInt32 : DType::kUInt32;
    case 8: return is_signed ? DType::kInt64 : DType::kUInt64;
    default: return DType::kNone;
  }
}

DType dtype_of_format(const char* format, int64_t size) {
  std::string_view text = format ? format : "B";
  const bool big_endian = text.starts_with('>') || text.starts_with('!');
  if (big_endian || text.starts_with('<') || text.starts_with('=') || text.starts_with('@')) text.remove_prefix(1);
  DType dtype = DType::kNone;
  if (text.size() == 1) {
    if (text[0] == '?') dtype = DType::kBool;
    if (text[0] == 'e') dtype = DType::kFloat16;
    if (text[0] == 'f') dtype = DType::kFloat32;
    if (text[0] == 'd') dtype = DType::kFloat64;
    if (std::strchr("bhilq", text[0])) dtype = integer_of(true, size);
    if (std::strchr("BHILQ", text[0])) dtype = integer_of(false, size);
  }
  if (dtype == DType::kNone || (big_endian && size > 1)) {
    fail(ErrorKind::kType, "array of element type \"{}\"{}: expected bool, integers or floats in native byte order",
         format ? format : "", big_endian ? " (big-endian)" : "");
  }
  return dtype;
}

DType dtype_of_dlpack(dlpack::Type type) {
  const int size = type.bits % 8 == 0 ? type.bits / 8 : 0;
  DType dtype = DType::kNone;
  if (type.lanes == 1) {
    if (type.code == dlpack::kInt || type.code == dlpack::kUInt) dtype = integer_of(type.code == dlpack::kInt, size);
    if (type.code == dlpack::kBool && size == 1) dtype = DType::kBool;
    if (type.code == dlpack::kBFloat && size == 2) dtype = DType::kBFloat16;
    if (type.code == dlpack::kFloat && size == 2) dtype = DType::kFloat16;
    if (type.code == dlpack::kFloat && size == 4) dtype = DType::kFloat32;
    if (type.code == dlpack::kFloat && size == 8) dtype = DType::kFloat64;
  }
  if (dtype == DType::kNone) {
    fail(ErrorKind::kType, "array of DLPack type (code {}, {} bits): expected bool, integers or floats",
         static_cast<int>(type.code), static_cast<int>(type.bits));
  }
  return dtype;
}

// numpy has no buffer format for bfloat16 (an extension type): the bits are taken as uint16.
bool is_bfloat16_array(nb::handle object) {
  if (!nb::hasattr(object, "dtype") || !nb::hasattr(object, "__array_interface__")) return false;
  const nb::object name = nb::getattr(object.attr("dtype"), "name", nb::none());
  return nb::isinstance<nb::str>(name) && nb::cast<std::string_view>(name) == "bfloat16";
}

void copy_strided(const uint8_t* from, uint8_t*& to, const Shape& shape, const Shape& strides, int axis, size_t item) {
  if (axis == shape.ndim()) {
    std::memcpy(to, from, item);
    to += item;
    return;
  }
  if (axis == shape.ndim() - 1 && strides[axis] == static_cast<int64_t>(item)) {
    const size_t bytes = static_cast<size_t>(shape[axis]) * item;
    std::memcpy(to, from, bytes);
    to += bytes;
    return;
  }
  for (int64_t i = 0; i < shape[axis]; ++i) copy_strided(from + i * strides[axis], to, shape, strides, axis + 1, item);
}

}  // namespace

std::shared_ptr<void> own(nb::object object) {
  return shared_owner({object.release().ptr(), [](void* owned) { Py_DECREF(static_cast<PyObject*>(owned)); }});
}

void drop_released_objects() {
  std::vector<Owner> owners;
  {
    const std::lock_guard lock(released().mutex);
    owners.swap(released().owners);
  }
  for (const Owner& owner : owners) owner.release(owner.object);
}

bool ArrayView::is_contiguous() const {
  auto stride = static_cast<int64_t>(dtype_size(dtype_));
  for (int axis = shape_.ndim() - 1; axis >= 0; --axis) {
    if (shape_[axis] != 1 && strides_[axis] != stride) return shape_.volume() == 0;
    stride *= shape_[axis];
  }
  return true;
}

void ArrayView::copy_to(void* target) const {
  if (bytes() == 0) return;
  if (is_contiguous()) {
    std::memcpy(target, data_, bytes());
    return;
  }
  auto* to = static_cast<uint8_t*>(target);
  copy_strided(data_, to, shape_, strides_, 0, dtype_size(dtype_));
}

std::optional<ArrayView> ArrayView::of_buffer(nb::handle object) {
  auto* buffer = new Py_buffer;
  if (PyObject_GetBuffer(object.ptr(), buffer, PyBUF_RECORDS_RO) != 0) {
    delete buffer;
    PyErr_Clear();
    return std::nullopt;
  }
  ArrayView view;
  view.owner_ = shared_owner({buffer, release_buffer});
  view.data_ = static_cast<const uint8_t*>(buffer->buf);
  view.dtype_ = dtype_of_format(buffer->format, buffer->itemsize);
  for (int axis = 0; axis < buffer->ndim; ++axis) {
    view.shape_.push_back(buffer->shape[axis]);
    view.strides_.push_back(buffer->strides[axis]);
  }
  return view;
}

std::optional<ArrayView> ArrayView::of_dlpack(nb::handle object) {
  nb::object capsule = nb::borrow(object);
  if (!PyCapsule_CheckExact(object.ptr())) {
    if (!nb::hasattr(object, "__dlpack__")) return std::nullopt;
    const nb::object device = object.attr("__dlpack_device__")();
    int type = 0;
    int id = 0;
    try {
      type = nb::cast<int>(nb::int_(device[0]));  // an enumerator of Python's, mostly
      id = nb::cast<int>(nb::int_(device[1]));
    } catch (const std::exception&) {
      fail(ErrorKind::kType, "__dlpack_device__: expected two integers, got {}", nb::repr(device).c_str());
    }
    if (type != dlpack::kCpu) {
      fail(ErrorKind::kType, "array on DLPack device ({}, {}): expected CPU memory; copy it to the host first", type,
           id);
    }
    try {
      capsule = object.attr("__dlpack__")();
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_BufferError)) throw;  // others come from the user's code
      fail(ErrorKind::kType, "array of type {}: {}", Py_TYPE(object.ptr())->tp_name, nb::str(error.value()).c_str());
    }
  }
  if (!PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    fail(ErrorKind::kValue, "DLPack capsule: expected an unused capsule named \"dltensor\"");
  }
  auto* managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  const dlpack::Tensor& tensor = managed->tensor;
  if (tensor.device.type != dlpack::kCpu) {
    fail(ErrorKind::kType, "array on DLPack device ({}, {}): expected CPU memory", tensor.device.type,
         tensor.device.id);
  }
  ArrayView view;
  view.dtype_ = dtype_of_dlpack(tensor.dtype);
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  view.owner_ = shared_owner({managed, release_managed});
  view.data_ = static_cast<const uint8_t*>(tensor.data) + tensor.byte_offset;
  const auto item = static_cast<int64_t>(dtype_size(view.dtype_));
  int64_t packed = item;
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    view.shape_.insert(0, tensor.shape[axis]);
    view.strides_.insert(0, tensor.strides ? tensor.strides[axis] * item : packed);
    packed *= tensor.shape[axis];
  }
  return view;
}

std::optional<ArrayView> ArrayView::of(nb::handle object) {
  if (nb::isinstance<PyTensor>(object)) {
    if (!nb::inst_ready(object)) fail(ErrorKind::kType, "expected a tensor, got one whose __init__ was not called");
    const auto& tensor = nb::cast<const PyTensor&>(object);
    ArrayView view;
    view.data_ = tensor.sample.as<uint8_t>();
    view.dtype_ = tensor.sample.dtype;
    view.shape_ = view.strides_ = tensor.sample.shape;
    auto stride = static_cast<int64_t>(dtype_size(view.dtype_));
    for (int axis = view.shape_.ndim() - 1; axis >= 0; --axis) {
      view.strides_[axis] = stride;
      stride *= view.shape_[axis];
    }
    view.owner_ = std::make_shared<Ref<Batch>>(tensor.batch);
    return view;
  }
  if (PyObject_CheckBuffer(object.ptr())) {
    if (auto view = of_buffer(object)) return view;
    if (is_bfloat16_array(object)) {
      std::optional<ArrayView> bits = of_buffer(object.attr("view")("uint16"));
      bits->dtype_ = DType::kBFloat16;
      return bits;
    }
  }
  if (auto view = of_dlpack(object)) return view;
  if (nb::hasattr(object, "__array__")) return of_buffer(object.attr("__array__")());
  return std::nullopt;
}

}  // namespace headrace::python
