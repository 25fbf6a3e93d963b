// Shape: editing and printing.
#include "core/shape.h"

#include <algorithm>

namespace headrace {

Shape::Shape(std::span<const int64_t> extents) : Shape() {
  check_value(extents.size() <= kMaxDims, "a shape has at most {} axes, got {}", kMaxDims, extents.size());
  ndim_ = static_cast<int>(extents.size());
  std::copy(extents.begin(), extents.end(), extents_.begin());
}

void Shape::insert(int axis, int64_t extent) {
  check_value(ndim_ < kMaxDims, "a shape has at most {} axes", kMaxDims);
  check_internal(axis >= 0 && axis <= ndim_, "shape: insert at axis {} of {}", axis, ndim_);
  std::copy_backward(extents_.begin() + axis, extents_.begin() + ndim_, extents_.begin() + ndim_ + 1);
  extents_[axis] = extent;
  ++ndim_;
}

void Shape::erase(int axis) {
  check_internal(axis >= 0 && axis < ndim_, "shape: erase axis {} of {}", axis, ndim_);
  std::copy(extents_.begin() + axis + 1, extents_.begin() + ndim_, extents_.begin() + axis);
  --ndim_;
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.ndim(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  if (shape.ndim() == 1) text += ",";
  return text + ")";
}

int64_t checked_volume(const Shape& shape, size_t element_size, std::string_view what) {
  int64_t volume = 1;
  bool overflow = false;
  for (int64_t extent : shape) {
    check(extent >= 0, "{}: negative extent in shape {}", what, shape);
    overflow |= __builtin_mul_overflow(volume, extent, &volume);
  }
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t bytes = 0;
  overflow |= __builtin_mul_overflow(volume, static_cast<int64_t>(element_size), &bytes);
  check(!overflow, "{}: shape {} is too large", what, shape);
  return volume;
}

}  // namespace headrace
