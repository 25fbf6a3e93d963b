// The arithmetic of resizing.
#include "ops/geometry/resize_geometry.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace headrace {
namespace {

// Regions and sizes below this are taken to be as large, so that scales stay finite.
constexpr double kLeast = 0.001;

double region_extent(const ResizeRequest& r) { return std::max(std::abs(r.roi_end - r.roi_start), kLeast); }

double scale_of(const ResizeRequest& r) { return std::abs(r.size) / region_extent(r); }

bool takes_part(const ResizeRequest& r) { return r.extent > 0; }

double geometric_mean_scale(std::span<const ResizeRequest> axes) {
  double log_sum = 0;
  int given = 0;
  double only = 1;
  for (const ResizeRequest& r : axes) {
    if (!takes_part(r) || r.size == 0) continue;
    only = scale_of(r);
    log_sum += std::log(only);
    ++given;
  }
  return given < 2 ? only : std::exp(log_sum / given);
}

void complete_separately(double scale, std::span<ResizeRequest> axes) {
  for (ResizeRequest& r : axes) {
    // A region that mirrors an axis without a size is turned back, as DALI does.
    if (r.size == 0) r.size = std::copysign(region_extent(r) * scale, r.roi_end - r.roi_start);
    if (r.max_size > 0) r.size = std::clamp(r.size, -r.max_size, r.max_size);
  }
}

void complete_together(bool least, std::span<ResizeRequest> axes) {
  double scale = 0;
  for (const ResizeRequest& r : axes) {
    if (!takes_part(r) || r.size == 0) continue;
    const double own = scale_of(r);
    scale = scale == 0 ? own : least ? std::min(scale, own) : std::max(scale, own);
  }
  if (scale == 0) return complete_separately(1, axes);
  for (const ResizeRequest& r : axes) {
    if (takes_part(r) && r.max_size > 0) scale = std::min(scale, r.max_size / region_extent(r));
  }
  for (ResizeRequest& r : axes) r.size = std::copysign(region_extent(r) * scale, r.size);
}

// Sizes are computed in double, but wanted as they come out in float: 0.7f * 5 is 3.5, 0.1f * 30 is 3.
double round_size(double size, SizeRounding rounding) {
  const double single = static_cast<double>(static_cast<float>(size));
  switch (rounding) {
    case SizeRounding::kTruncate: return std::floor(single);
    case SizeRounding::kCeil: return std::ceil(single);
    default: return std::floor(single + 0.5);
  }
}

}  // namespace

void complete_sizes(ResizeMode mode, std::span<ResizeRequest> axes) {
  switch (mode) {
    case ResizeMode::kDefault: return complete_separately(geometric_mean_scale(axes), axes);
    case ResizeMode::kStretch: return complete_separately(1, axes);
    case ResizeMode::kNotLarger: return complete_together(true, axes);
    case ResizeMode::kNotSmaller: return complete_together(false, axes);
  }
}

ResampleAxis place_axis(const ResizeRequest& request, SizeRounding rounding, bool subpixel) {
  ResampleAxis axis;
  axis.in = request.extent;
  axis.out = 0;
  if (!takes_part(request)) return axis;
  double size = std::max(std::abs(request.size), kLeast);
  const double rounded = std::max(1.0, round_size(size, rounding));
  check(rounded < 0x1p31, "resize: expected an extent below 2^31, got {}", rounded);
  if (std::abs(size - rounded) < 1e-9 * size) size = rounded;  // scaled there and back
  axis.out = static_cast<int64_t>(rounded);

  const double direction = request.roi_start > request.roi_end ? -1 : 1;
  const double given = std::abs(request.roi_end - request.roi_start);
  const double region = region_extent(request);
  const double start = request.roi_start - direction * (region - given) / 2;
  const double adjusted = subpixel ? region * rounded / size : region;
  axis.origin = start + direction * request.alignment * (region - adjusted);
  axis.step = direction * adjusted / rounded;
  return request.size < 0 ? mirror_axis(axis) : axis;
}

ResampleAxis crop_axis(ResampleAxis axis, int64_t anchor, int64_t extent) {
  axis.origin += static_cast<double>(anchor) * axis.step;
  axis.out = extent;
  return axis;
}

ResampleAxis mirror_axis(ResampleAxis axis) {
  axis.origin += static_cast<double>(axis.out) * axis.step;
  axis.step = -axis.step;
  return axis;
}

}  // namespace headrace
