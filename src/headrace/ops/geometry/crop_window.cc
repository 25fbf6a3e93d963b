// The window of crop-like operators.
#include "ops/geometry/crop_window.h"

#include <cmath>

namespace headrace {

CropWindow::CropWindow(const OpSpec& spec)
    : name_(spec.schema->name()),
      crop_(spec, "crop"),
      depth_(spec, "crop_d"),
      height_(spec, "crop_h"),
      width_(spec, "crop_w"),
      x_(spec, "crop_pos_x"),
      y_(spec, "crop_pos_y"),
      z_(spec, "crop_pos_z") {
  check(height_.given() == width_.given(), "[{}] crop_h: expected together with crop_w, got one of them", name_);
  check(!depth_.given() || height_.given(), "[{}] crop_d: expected together with crop_h and crop_w", name_);
  check(!crop_.given() || !height_.given(), "[{}] crop: expected crop, or crop_h and crop_w, got both", name_);
  const std::string& rounding = spec.get_string("rounding");
  check(rounding == "round" || rounding == "truncate", "{}: expected \"round\" or \"truncate\", got \"{}\"",
        spec.about("rounding"), rounding);
  truncate_ = rounding == "truncate";
  if (spec.has_constant("crop")) {
    const size_t n = spec.get_floats("crop").size();
    check(n == 2 || n == 3, "{}: expected 2 values (height, width) or 3 (depth, height, width), got {}",
          spec.about("crop"), n);
  }
}

void CropWindow::declare(Schema& schema) {
  const std::string whole = " in pixels, truncated to an integer; 0 or less: the whole axis.";
  const std::string place = " of the window in the free space: 0 at the start, 1 at the end.";
  schema
      .arg("crop", ArgType::kFloatList, {}, "Extents (height, width) or (depth, height, width)" + whole,
           PerSample::kAllowed)
      .arg("crop_d", ArgType::kFloat, 0.0, "Depth" + whole + " Needs crop_h and crop_w.", PerSample::kAllowed)
      .arg("crop_h", ArgType::kFloat, 0.0, "Height" + whole + " Needs crop_w.", PerSample::kAllowed)
      .arg("crop_w", ArgType::kFloat, 0.0, "Width" + whole + " Needs crop_h.", PerSample::kAllowed)
      .arg("crop_pos_x", ArgType::kFloat, 0.5, "Horizontal place" + place, PerSample::kAllowed)
      .arg("crop_pos_y", ArgType::kFloat, 0.5, "Vertical place" + place, PerSample::kAllowed)
      .arg("crop_pos_z", ArgType::kFloat, 0.5, "Place in depth" + place, PerSample::kAllowed)
      .arg("rounding", ArgType::kString, std::string("round"),
           "How the window's first pixel becomes an integer: `\"round\"` (to nearest, halves away from zero) or "
           "`\"truncate\"`.");
}

float CropWindow::axis_extent(const SampleContext& ctx, char axis) const {
  if (!crop_.given()) return axis == 'D' ? depth_(ctx) : axis == 'H' ? height_(ctx) : width_(ctx);
  const std::span<const float> crop = crop_(ctx);
  check(crop.size() == 2 || crop.size() == 3,
        "[{}] crop: expected 2 values (height, width) or 3 (depth, height, width), got {}", name_, crop.size());
  const size_t from_end = axis == 'D' ? 3 : axis == 'H' ? 2 : 1;
  return crop.size() >= from_end ? crop[crop.size() - from_end] : 0.0f;
}

float CropWindow::position(const SampleContext& ctx, char axis) const {
  const float value = axis == 'D' ? z_(ctx) : axis == 'H' ? y_(ctx) : x_(ctx);
  check(value >= 0.0f && value <= 1.0f, "[{}] crop_pos_{}: expected a number from 0 to 1, got {}", name_,
        axis == 'D'   ? 'z'
        : axis == 'H' ? 'y'
                      : 'x',
        value);
  return value;
}

Window CropWindow::operator()(const SampleContext& ctx, const Shape& shape, const Layout& layout) const {
  Window window{shape, shape};
  for (int i = 0; i < shape.ndim(); ++i) {
    window.anchor[i] = 0;
    const char axis = layout[i];
    if (axis != 'D' && axis != 'H' && axis != 'W') continue;
    const float extent = axis_extent(ctx, axis);
    check(extent < 0x1p31f, "[{}] crop: expected an extent below 2^31, got {}", name_, extent);
    const float place = position(ctx, axis);
    if (!(extent >= 1.0f)) continue;
    window.extent[i] = static_cast<int64_t>(extent);
    // In double, as DALI does: 0.7f * 5 is below 3.5 there, but not in float.
    const double anchor = static_cast<double>(place) * static_cast<double>(shape[i] - window.extent[i]);
    window.anchor[i] = static_cast<int64_t>(truncate_ ? anchor : std::round(anchor));
  }
  return window;
}

}  // namespace headrace
