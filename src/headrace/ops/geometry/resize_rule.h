// What all resizing by requested sizes shares: the arguments mode, max_size, subpixel_scale and roi_*.
#pragma once

#include <span>
#include <string>

#include "graph/arg.h"
#include "ops/geometry/resize_geometry.h"

namespace headrace {

class ResizeRule {
 public:
  explicit ResizeRule(const OpSpec& spec);

  // Adds the arguments to a schema.
  static void declare(Schema& schema);

  ResizeMode mode() const { return mode_; }
  bool subpixel() const { return subpixel_; }
  // Region and max_size of each of the resized axes, whose extents are `extents`; the sizes are left at 0.
  void fill_requests(const SampleContext& ctx, std::span<const int64_t> extents, std::span<ResizeRequest> axes) const;

 private:
  void set_regions(const SampleContext& ctx, std::span<ResizeRequest> axes) const;

  std::string name_;
  ResizeMode mode_ = ResizeMode::kDefault;
  bool subpixel_, relative_;
  ArgList<double> max_size_, roi_start_, roi_end_;
};

// Entry i of a list with one value for all `count` axes, or one for each. Anything else is an error that starts with
// `about`, as is a number that is not finite or beyond 2^31.
double axis_value(std::span<const double> list, size_t i, size_t count, const std::string& about);

}  // namespace headrace
