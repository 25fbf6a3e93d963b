// Resampling by the nearest element: copies, without arithmetic.
#pragma once

#include <span>

#include "core/arena.h"
#include "core/sample.h"
#include "kernels/cpu/resample_table.h"

namespace headrace {

// Writes to `out` the elements of `in` that nearest_element() names, converted to its type. One entry of `axes` for
// each axis of the tensor in memory, or of one of the same elements in the same order; all are identities or kNearest.
// Nothing is empty.
void resample_nearest(const Sample& in, std::span<const AxisWindow> axes, const Sample& out, Arena& arena);

}  // namespace headrace
