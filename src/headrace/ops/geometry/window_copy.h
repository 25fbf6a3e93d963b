// Cutting a window out of a tensor, with borders where it reaches beyond and conversion of the type.
#pragma once

#include <span>

#include "core/arena.h"
#include "core/sample.h"
#include "ops/geometry/bounds_policy.h"

namespace headrace {

// Writes the window of `in` to `out`, which has its shape. Outside the tensor lies what `policy` says; for kPad that is
// `fill`: one value, or one for each channel (axis C of the layout, without one the last axis), converted to the type
// of the output. Numbers convert half away from zero, clamped. An empty axis cannot be extended but by kPad.
void copy_window(const Sample& in, const Window& window, BoundsPolicy policy, std::span<const float> fill,
                 const Sample& out, Arena& arena);

// The axis that `fill` of copy_window runs along.
int channel_axis(const Sample& sample);

}  // namespace headrace
