// What all operators that resample share: filters, type of the output, and the run itself; each brings its own map.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "graph/arg.h"
#include "kernels/cpu/resample_table.h"

namespace headrace {

// How each axis of a sample is resampled.
class ResamplePlan {
 public:
  ResamplePlan() = default;
  // Leaves all axes of a tensor of that shape as they are.
  explicit ResamplePlan(const Shape& shape);

  ResampleAxis& operator[](int axis) { return axes_[static_cast<size_t>(axis)]; }
  const ResampleAxis& operator[](int axis) const { return axes_[static_cast<size_t>(axis)]; }
  std::span<const ResampleAxis> axes() const { return {axes_.data(), static_cast<size_t>(ndim_)}; }
  // The shape of the output.
  Shape shape() const;

 private:
  int ndim_ = 0;
  std::array<ResampleAxis, Shape::kMaxDims> axes_;
};

class ResampleOperator {
 public:
  explicit ResampleOperator(const OpSpec& spec);

  // Adds dtype, antialias, interp_type, min_filter, mag_filter and the pointless arguments to a schema.
  static void declare(Schema& schema, bool antialias = true);

  // Describes output 0 and keeps the plan.
  void infer(SampleContext& ctx, const ResamplePlan& plan) const;
  // The part of input 0 behind the part `needed` of output 0; see SampleOperator::input_region. For inputs beside the
  // first: nothing.
  std::optional<Region> input_region(const SampleContext& ctx, int i, const Region& needed) const;
  // Resamples input 0 by the plan, or the region of the output that is asked for; the filters follow from its scales.
  void run(SampleContext& ctx) const;

 private:
  // The argument that decides.
  const Arg<int64_t>& filter_argument(bool shrinks) const;
  ResampleFilter filter(const SampleContext& ctx, bool shrinks) const;

  std::string name_;
  bool has_dtype_, antialias_;
  DType dtype_ = DType::kNone;
  Arg<int64_t> interp_, min_, mag_;
};

}  // namespace headrace
