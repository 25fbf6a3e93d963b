// What all resizing by requested sizes shares.
#include "ops/geometry/resize_rule.h"

#include <cmath>

namespace headrace {
namespace {

ResizeMode parse_mode(const OpSpec& spec) {
  const std::string& text = spec.get_string("mode");
  if (text == "stretch") return ResizeMode::kStretch;
  if (text == "not_larger") return ResizeMode::kNotLarger;
  if (text == "not_smaller") return ResizeMode::kNotSmaller;
  check(text == "default", "{}: expected \"default\", \"stretch\", \"not_larger\" or \"not_smaller\", got \"{}\"",
        spec.about("mode"), text);
  return ResizeMode::kDefault;
}

}  // namespace

double axis_value(std::span<const double> list, size_t i, size_t count, const std::string& about) {
  check(list.size() == 1 || list.size() == count, "{}: expected one number, or one for each of {} axes, got {}", about,
        count, list.size());
  const double value = list[list.size() == 1 ? 0 : i];
  check(std::abs(value) <= 0x1p31, "{}: expected a number of at most 2^31, got {}", about, value);
  return value;
}

ResizeRule::ResizeRule(const OpSpec& spec)
    : name_(spec.schema->name()),
      mode_(parse_mode(spec)),
      subpixel_(spec.get_bool("subpixel_scale")),
      relative_(spec.get_bool("roi_relative")),
      max_size_(spec, "max_size"),
      roi_start_(spec, "roi_start"),
      roi_end_(spec, "roi_end") {
  check(roi_start_.given() == roi_end_.given(), "[{}] roi_start: expected together with roi_end, got one of them",
        name_);
}

void ResizeRule::declare(Schema& schema) {
  schema
      .arg("mode", ArgType::kString, std::string("default"),
           "What becomes of the aspect ratio. `\"default\"`: axes of size 0 are scaled by the geometric mean of the "
           "other axes' scales; `\"stretch\"`: they keep their extent; `\"not_larger\"`: all axes get one scale, with "
           "which none exceeds its size; `\"not_smaller\"`: one scale with which none falls below it.")
      .arg("max_size", ArgType::kFloatList, {},
           "Upper limit of the output's extents, one for all axes or one for each. In the modes with one scale that "
           "scale is reduced, otherwise each axis is cut to it. 0: none.")
      .arg("subpixel_scale", ArgType::kBool, true,
           "Where the size is not an integer, the region grows or shrinks about its centre so that the scale is the "
           "one asked for. False: the scale follows from the rounded size.")
      .arg("roi_start", ArgType::kFloatList, {},
           "Start of the region that is resized, in pixels, in the order of the layout; default: all. It may lie "
           "outside the image, whose border pixels repeat. A start behind the end mirrors the axis, unless its size is "
           "0 "
           "in mode \"default\" or \"stretch\". Needs roi_end.",
           PerSample::kAllowed)
      .arg("roi_end", ArgType::kFloatList, {}, "End of the region. Needs roi_start.", PerSample::kAllowed)
      .arg("roi_relative", ArgType::kBool, false, "roi_start and roi_end are fractions of the image's extents.");
}

void ResizeRule::fill_requests(const SampleContext& ctx, std::span<const int64_t> extents,
                               std::span<ResizeRequest> axes) const {
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i] = {.extent = extents[i], .roi_end = static_cast<double>(extents[i])};
    if (max_size_.given()) {
      axes[i].max_size = axis_value(max_size_(ctx), i, axes.size(), "[" + name_ + "] max_size");
    }
  }
  if (roi_start_.given()) set_regions(ctx, axes);
}

void ResizeRule::set_regions(const SampleContext& ctx, std::span<ResizeRequest> axes) const {
  const std::string start = "[" + name_ + "] roi_start", end = "[" + name_ + "] roi_end";
  for (size_t i = 0; i < axes.size(); ++i) {
    const double unit = relative_ ? static_cast<double>(axes[i].extent) : 1.0;
    axes[i].roi_start = unit * axis_value(roi_start_(ctx), i, axes.size(), start);
    axes[i].roi_end = unit * axis_value(roi_end_(ctx), i, axes.size(), end);
  }
}

}  // namespace headrace
