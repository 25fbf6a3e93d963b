// The size of resized images: the arguments size, resize_x/y/z, resize_shorter and resize_longer, and the ResizeRule's.
#pragma once

#include <string>

#include "ops/geometry/resample_operator.h"
#include "ops/geometry/resize_rule.h"

namespace headrace {

class ResizeSize {
 public:
  // Checks that the size is given in exactly one way.
  explicit ResizeSize(const OpSpec& spec);

  // Adds the arguments to a schema.
  static void declare(Schema& schema);

  // The axes of `in`, those of D, H and W resized.
  ResamplePlan operator()(const SampleContext& ctx, const Sample& in) const;

 private:
  double requested(const SampleContext& ctx, char axis, size_t i, size_t count) const;

  std::string about_size_;
  ResizeRule rule_;
  ResizeMode mode_;
  ArgList<double> size_;
  Arg<double> x_, y_, z_, shorter_, longer_;
};

// D, H or W.
constexpr bool is_spatial(char axis) { return axis == 'D' || axis == 'H' || axis == 'W'; }

}  // namespace headrace
