// The size of resized images.
#include "ops/geometry/resize_size.h"

#include <array>

namespace headrace {

ResizeSize::ResizeSize(const OpSpec& spec)
    : about_size_(spec.about("size")),
      rule_(spec),
      mode_(rule_.mode()),
      size_(spec, "size"),
      x_(spec, "resize_x"),
      y_(spec, "resize_y"),
      z_(spec, "resize_z"),
      shorter_(spec, "resize_shorter"),
      longer_(spec, "resize_longer") {
  const bool separate = x_.given() || y_.given() || z_.given();
  const int ways = separate + size_.given() + shorter_.given() + longer_.given();
  check(ways == 1,
        "{}: expected the size in exactly one way, got {}; give `size`, or some of `resize_x`, `resize_y`, "
        "`resize_z`, or `resize_shorter`, or `resize_longer`",
        about_size_, ways);
  if (!shorter_.given() && !longer_.given()) return;
  check(!spec.has("mode"), "{}: expected none with resize_shorter or resize_longer, which imply one",
        spec.about("mode"));
  mode_ = shorter_.given() ? ResizeMode::kNotSmaller : ResizeMode::kNotLarger;
}

void ResizeSize::declare(Schema& schema) {
  const std::string rules = " in pixels; 0: as the mode says; a negative size mirrors the axis.";
  schema
      .arg("size", ArgType::kFloatList, {},
           "Extents of the output, (height, width) or (depth, height, width), or one number for all," + rules,
           PerSample::kAllowed)
      .arg("resize_x", ArgType::kFloat, 0.0, "Width of the output" + rules, PerSample::kAllowed)
      .arg("resize_y", ArgType::kFloat, 0.0, "Height of the output" + rules, PerSample::kAllowed)
      .arg("resize_z", ArgType::kFloat, 0.0, "Depth of the output" + rules, PerSample::kAllowed)
      .arg("resize_shorter", ArgType::kFloat, 0.0,
           "Extent of the output's shortest axis; the aspect ratio is kept. Like mode \"not_smaller\".",
           PerSample::kAllowed)
      .arg("resize_longer", ArgType::kFloat, 0.0,
           "Extent of the output's longest axis; the aspect ratio is kept. Like mode \"not_larger\".",
           PerSample::kAllowed);
  ResizeRule::declare(schema);
}

double ResizeSize::requested(const SampleContext& ctx, char axis, size_t i, size_t count) const {
  if (size_.given()) return axis_value(size_(ctx), i, count, about_size_);
  const double value = shorter_.given()  ? shorter_(ctx)
                       : longer_.given() ? longer_(ctx)
                       : axis == 'W'     ? x_(ctx)
                       : axis == 'H'     ? y_(ctx)
                                         : z_(ctx);
  return axis_value({&value, 1}, 0, 1, about_size_);
}

ResamplePlan ResizeSize::operator()(const SampleContext& ctx, const Sample& in) const {
  std::array<int64_t, Shape::kMaxDims> extents{};
  std::array<ResizeRequest, Shape::kMaxDims> list;
  size_t count = 0;
  for (int i = 0; i < in.shape.ndim(); ++i) {
    if (is_spatial(in.layout[i])) extents[count++] = in.shape[i];
  }
  const std::span requests = std::span(list).first(count);
  rule_.fill_requests(ctx, std::span(extents).first(count), requests);
  bool any = false;
  for (size_t i = 0, axis = 0; i < count; ++axis) {
    const char letter = in.layout[static_cast<int>(axis)];
    if (!is_spatial(letter)) continue;
    requests[i].size = requested(ctx, letter, i, count);
    any |= requests[i].size != 0;
    ++i;
  }
  if (!any) {  // nothing is asked for, so nothing is limited
    for (ResizeRequest& request : requests) request.max_size = 0;
  }
  complete_sizes(mode_, requests);

  ResamplePlan plan(in.shape);
  size_t next = 0;
  for (int i = 0; i < in.shape.ndim(); ++i) {
    if (is_spatial(in.layout[i])) plan[i] = place_axis(requests[next++], SizeRounding::kRound, rule_.subpixel());
  }
  return plan;
}

}  // namespace headrace
