// Broadcasting: how the elements of up to three operands meet, with neighbouring axes of one kind merged.
#pragma once

#include <cstdint>
#include <span>

#include "core/shape.h"

namespace headrace {

constexpr int kMaxOperands = 3;

struct Broadcast {
  static constexpr int kMaxGroups = 6;

  int groups = 0;  // merged axes, outermost first
  int64_t extents[kMaxGroups] = {};
  int64_t strides[kMaxOperands][kMaxGroups] = {};  // in elements; 0 where the operand is repeated

  // The operand is a dense block of this many elements, repeated; -1 if it is repeated within itself, as a column is
  // along the rows.
  int64_t period(int operand) const;
};

// The common shape by NumPy's rule: aligned at the last axis, extents of 1 are repeated. A kRuntime error that shows
// the shapes if they don't fit.
Shape broadcast_shape(std::span<const Shape> operands);

// `shape` is broadcast_shape(operands). A kRuntime error beyond kMaxGroups groups.
Broadcast merge_axes(std::span<const Shape> operands, const Shape& shape);

}  // namespace headrace
