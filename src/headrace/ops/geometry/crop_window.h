// The window of crop-like operators: the arguments crop, crop_d/h/w, crop_pos_x/y/z and rounding.
#pragma once

#include "graph/arg.h"
#include "ops/geometry/bounds_policy.h"

namespace headrace {

class CropWindow {
 public:
  // Checks the constants.
  explicit CropWindow(const OpSpec& spec);

  // Adds the arguments to a schema.
  static void declare(Schema& schema);

  // The window in an input of this shape and layout: axes D, H and W are cropped, others are whole. An extent of 0 or
  // below, or none, means the whole axis. anchor = round(position * (extent of the axis - extent of the window)).
  Window operator()(const SampleContext& ctx, const Shape& shape, const Layout& layout) const;

 private:
  float axis_extent(const SampleContext& ctx, char axis) const;
  float position(const SampleContext& ctx, char axis) const;

  std::string name_;
  ArgList<float> crop_;
  Arg<float> depth_, height_, width_;
  Arg<float> x_, y_, z_;
  bool truncate_ = false;
};

}  // namespace headrace
