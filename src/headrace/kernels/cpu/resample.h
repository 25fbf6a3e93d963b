// Resampling of tensors along any of their axes, separably.
#pragma once

#include <span>

#include "core/arena.h"
#include "core/sample.h"
#include "kernels/cpu/resample_table.h"

namespace headrace {

// Writes `whole`, resampled along its axes as `axes` says (one entry for each axis, with its extents), to `out`. Types:
// uint8, uint16, int16, float; the output's is the input's or float. All sums are made in float, integers are rounded
// once, at the end, half away from zero. An infinity or NaN in the input may spread to outputs whose filter ends up to
// a filter's width before it. An output without elements is left alone; otherwise no axis is empty. Both may be regions
// (Note [regions]); that of `whole` holds what resample_inputs() names. The values don't depend on it.
void resample(const Sample& whole, std::span<const ResampleAxis> axes, const Sample& out, Arena& arena);

}  // namespace headrace
