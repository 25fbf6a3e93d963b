// Broadcasting.
#include "kernels/cpu/broadcast.h"

#include <algorithm>
#include <string>

namespace headrace {
namespace {

// The extent of an operand at an axis of the common shape, 1 for those that it lacks.
int64_t aligned_extent(const Shape& operand, int axis, int ndim) {
  const int own = axis - (ndim - operand.ndim());
  return own < 0 ? 1 : operand[own];
}

std::string list(std::span<const Shape> shapes) {
  std::string text;
  for (const Shape& shape : shapes) text += (text.empty() ? "" : " and ") + to_string(shape);
  return text;
}

}  // namespace

Shape broadcast_shape(std::span<const Shape> operands) {
  int ndim = 0;
  for (const Shape& operand : operands) ndim = std::max(ndim, operand.ndim());
  Shape shape;
  for (int axis = 0; axis < ndim; ++axis) {
    int64_t extent = 1;
    for (const Shape& operand : operands) {
      const int64_t own = aligned_extent(operand, axis, ndim);
      check(own == 1 || extent == 1 || own == extent,
            "operands: shapes {} can't be broadcast: extents must be equal or 1, counted from the last axis",
            list(operands));
      if (own != 1) extent = own;
    }
    shape.push_back(extent);
  }
  return shape;
}

Broadcast merge_axes(std::span<const Shape> operands, const Shape& shape) {
  const int ndim = shape.ndim();
  const int count = static_cast<int>(operands.size());
  Broadcast merged;
  int64_t dense[kMaxOperands] = {1, 1, 1};  // elements of each operand inside of the present axis
  unsigned inner_repeated = 0;
  for (int axis = ndim - 1; axis >= 0; --axis) {
    if (shape[axis] == 1) continue;
    unsigned repeated = 0;
    for (int i = 0; i < count; ++i) repeated |= (aligned_extent(operands[i], axis, ndim) == 1 ? 1u : 0u) << i;
    if (merged.groups == 0 || repeated != inner_repeated) {
      check(merged.groups < Broadcast::kMaxGroups,
            "operands: shapes {}: at most {} groups of axes can alternate in being broadcast; reshape or expand the "
            "operands first",
            list(operands), Broadcast::kMaxGroups);
      const int group = merged.groups++;
      merged.extents[group] = 1;
      for (int i = 0; i < count; ++i) merged.strides[i][group] = repeated >> i & 1 ? 0 : dense[i];
    }
    merged.extents[merged.groups - 1] *= shape[axis];
    for (int i = 0; i < count; ++i) dense[i] *= repeated >> i & 1 ? 1 : shape[axis];
    inner_repeated = repeated;
  }
  std::reverse(merged.extents, merged.extents + merged.groups);
  for (auto& strides : merged.strides) std::reverse(strides, strides + merged.groups);
  return merged;
}

int64_t Broadcast::period(int operand) const {
  int64_t block = 1;
  int group = groups - 1;
  for (; group >= 0 && strides[operand][group] == block; --group) block *= extents[group];
  for (; group >= 0; --group) {
    if (strides[operand][group] != 0) return -1;
  }
  return block;
}

}  // namespace headrace
