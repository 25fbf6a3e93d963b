// ArrayView: the memory of a Python object that holds an array: buffer protocol, DLPack, or a tensor of headrace.
#pragma once

#include <memory>
#include <optional>

#include "bindings.h"

namespace headrace::python {

// Read-only, with any strides. Made and destroyed with the GIL held; copying needs no GIL.
class ArrayView {
 public:
  // No value when the object is no array (a number, a nested list, ...). kType error for element types that headrace
  // lacks: complex, big-endian, strings, records.
  static std::optional<ArrayView> of(nb::handle object);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  size_t bytes() const { return static_cast<size_t>(shape_.volume()) * dtype_size(dtype_); }
  bool is_contiguous() const;
  // In C order.
  void copy_to(void* target) const;
  const void* data() const { return data_; }
  // Keeps the memory; may be dropped on any thread.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  static std::optional<ArrayView> of_buffer(nb::handle object);
  static std::optional<ArrayView> of_dlpack(nb::handle object);

  const uint8_t* data_ = nullptr;
  DType dtype_ = DType::kNone;
  Shape shape_;
  Shape strides_;  // in bytes
  std::shared_ptr<const void> owner_;
};

}  // namespace headrace::python
