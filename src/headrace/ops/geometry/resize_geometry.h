// The arithmetic of resizing: from requested sizes and regions to the extents and places of the output.
#pragma once

#include <span>

#include "kernels/cpu/resample_table.h"

namespace headrace {

enum class ResizeMode : uint8_t {
  kDefault,     // an axis without a size is scaled by the geometric mean of the others' scales
  kStretch,     // an axis without a size keeps its extent
  kNotLarger,   // all axes are scaled by the least of the scales
  kNotSmaller,  // all axes are scaled by the greatest of the scales
};

enum class SizeRounding : uint8_t { kRound, kTruncate, kCeil };

// What is wanted of one axis, in elements of the input.
struct ResizeRequest {
  int64_t extent = 0;    // of the input
  double roi_start = 0;  // the region that is resized; start > end mirrors
  double roi_end = 0;
  double size = 0;         // extent of the output before it is rounded; 0: not given; a negative one mirrors
  double max_size = 0;     // 0 or less: any
  double alignment = 0.5;  // where in the region lies what a rounded size adds or takes: 0 at its end, 1 at its start
};

// Gives every axis a size, by the rules of `mode` and by max_size. Scales are sizes by extents of regions. max_size
// caps each axis on its own, or the scale where there is one for all. Axes without elements take no part. In the first
// two modes an axis without a size is not mirrored, whatever its region.
void complete_sizes(ResizeMode mode, std::span<ResizeRequest> axes);

// The axis, resized: its size rounded, but at least 1 (0 if there are no elements). `subpixel`: the region grows or
// shrinks so that its scale is that of the size before rounding.
ResampleAxis place_axis(const ResizeRequest& request, SizeRounding rounding, bool subpixel);

// Outputs [anchor, anchor + extent) of the axis, which may lie beyond those it has.
ResampleAxis crop_axis(ResampleAxis axis, int64_t anchor, int64_t extent);

// The outputs of the axis in reverse order.
ResampleAxis mirror_axis(ResampleAxis axis);

}  // namespace headrace
