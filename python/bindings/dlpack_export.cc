// DLPack out: a capsule holds the batch by its own reference count, so that its deleter needs neither Python nor a
// lock.
#include <cstring>
#include <utility>

#include "bindings.h"
#include "dlpack.h"

namespace headrace::python {
namespace {

dlpack::Type type_of(DType dtype) {
  const auto bits = static_cast<uint8_t>(dtype_size(dtype) * 8);
  if (dtype == DType::kBool) return {dlpack::kBool, bits, 1};
  if (dtype == DType::kBFloat16) return {dlpack::kBFloat, bits, 1};
  if (is_floating(dtype)) return {dlpack::kFloat, bits, 1};
  return {static_cast<uint8_t>(is_signed(dtype) ? dlpack::kInt : dlpack::kUInt), bits, 1};
}

// One exported view: the structure that consumers see, its extents, and the memory's owner.
template <typename Structure> struct Export {
  Structure managed{};
  Shape shape;
  Shape strides;
  Ref<Batch> batch;

  static void release(Structure* structure) { delete static_cast<Export*>(structure->context); }
};

template <typename Structure> void release_unused(PyObject* capsule) {
  constexpr const char* kName = std::is_same_v<Structure, dlpack::Managed> ? "dltensor" : "dltensor_versioned";
  if (!PyCapsule_IsValid(capsule, kName)) return;  // a consumer took it over and renamed it
  auto* structure = static_cast<Structure*>(PyCapsule_GetPointer(capsule, kName));
  structure->deleter(structure);
}

template <typename Structure> Export<Structure>* make_export(const Sample& sample, Ref<Batch> batch) {
  auto* made = new Export<Structure>;
  made->shape = sample.shape;
  made->strides = sample.shape;
  int64_t stride = 1;
  for (int axis = sample.shape.ndim() - 1; axis >= 0; --axis) {
    made->strides[axis] = stride;
    stride *= sample.shape[axis];
  }
  made->batch = std::move(batch);
  dlpack::Tensor& tensor = made->managed.tensor;
  tensor.data = sample.data;
  tensor.device = {dlpack::kCpu, 0};
  tensor.ndim = sample.shape.ndim();
  tensor.dtype = type_of(sample.dtype);
  tensor.shape = sample.shape.ndim() ? &made->shape[0] : nullptr;
  tensor.strides = sample.shape.ndim() ? &made->strides[0] : nullptr;
  made->managed.context = made;
  made->managed.deleter = &Export<Structure>::release;
  return made;
}

nb::object capsule(void* structure, const char* name, PyCapsule_Destructor destructor) {
  return nb::steal(PyCapsule_New(structure, name, destructor));
}

}  // namespace

nb::object export_dlpack(const Sample& sample, const Ref<Batch>& batch, nb::handle max_version, nb::handle dl_device,
                         nb::handle copy) {
  if (!dl_device.is_none() && nb::cast<int>(dl_device[0]) != dlpack::kCpu) {
    PyErr_SetString(PyExc_BufferError, "dl_device: the tensor is in CPU memory, which is device (1, 0)");
    throw nb::python_error();
  }
  Sample exported = sample;
  Ref<Batch> owner = batch;
  const bool copied = !copy.is_none() && nb::cast<bool>(copy);
  if (copied) {
    owner = make_ref<Batch>(import_pool(), 1);
    exported.data = owner->claim(0, sample);
    if (sample.bytes() > 0) std::memcpy(exported.data, sample.data, sample.bytes());
  }
  if (max_version.is_none() || nb::cast<int>(max_version[0]) < 1) {
    auto* made = make_export<dlpack::Managed>(exported, std::move(owner));
    return capsule(&made->managed, "dltensor", release_unused<dlpack::Managed>);
  }
  auto* made = make_export<dlpack::ManagedVersioned>(exported, std::move(owner));
  made->managed.major = dlpack::kMajor;
  made->managed.minor = dlpack::kMinor;
  made->managed.flags = copied ? dlpack::kIsCopied : 0;
  return capsule(&made->managed, "dltensor_versioned", release_unused<dlpack::ManagedVersioned>);
}

}  // namespace headrace::python
