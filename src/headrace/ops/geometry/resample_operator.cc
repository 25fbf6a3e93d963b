// What all operators that resample share.
#include "ops/geometry/resample_operator.h"

#include <cmath>
#include <tuple>

#include "kernels/cpu/resample.h"

namespace headrace {

ResamplePlan::ResamplePlan(const Shape& shape) : ndim_(shape.ndim()) {
  for (int i = 0; i < ndim_; ++i) (*this)[i] = {.in = shape[i], .out = shape[i]};
}

Shape ResamplePlan::shape() const {
  Shape shape;
  for (const ResampleAxis& axis : axes()) shape.push_back(axis.out);
  return shape;
}

ResampleOperator::ResampleOperator(const OpSpec& spec)
    : name_(spec.schema->name()),
      has_dtype_(spec.has("dtype")),
      antialias_(spec.get_bool("antialias")),
      interp_(spec, "interp_type"),
      min_(spec, "min_filter"),
      mag_(spec, "mag_filter") {
  if (has_dtype_) dtype_ = spec.get_dtype("dtype");
}

void ResampleOperator::declare(Schema& schema, bool antialias) {
  const auto linear = static_cast<int64_t>(InterpType::kLinear);
  schema
      .arg("dtype", ArgType::kDType, {},
           "Type of the output: FLOAT or that of the input (UINT8, UINT16, INT16, FLOAT); default: that of the input. "
           "Integers are rounded half away from zero and clamped.")
      .arg("antialias", ArgType::kBool, antialias,
           "Where an axis shrinks, the filter is stretched by the scale, so that all pixels take part. "
           "INTERP_NN doesn't heed it.")
      .arg("interp_type", ArgType::kInterpType, linear,
           "Filter, for axes that shrink and others: INTERP_NN (the nearest pixel), INTERP_LINEAR, INTERP_CUBIC "
           "(Keys, a = -0.5), INTERP_LANCZOS3, INTERP_GAUSSIAN, INTERP_TRIANGULAR (the same as INTERP_LINEAR).",
           PerSample::kAllowed)
      .not_for_shapes()
      .arg("min_filter", ArgType::kInterpType, linear, "Filter for axes that shrink; wins over `interp_type`.",
           PerSample::kAllowed)
      .not_for_shapes()
      .arg("mag_filter", ArgType::kInterpType, linear, "Filter for axes that don't; wins over `interp_type`.",
           PerSample::kAllowed)
      .not_for_shapes()
      .ignored_arg("minibatch_size", ArgType::kInt, "Samples are resampled one by one.")
      .ignored_arg("temp_buffer_hint", ArgType::kInt, "Workers keep their memory.");
}

void ResampleOperator::infer(SampleContext& ctx, const ResamplePlan& plan) const {
  const Sample& in = ctx.input(0);
  const DType t = in.dtype;
  check(t == DType::kUInt8 || t == DType::kUInt16 || t == DType::kInt16 || t == DType::kFloat32,
        "[{}] input: expected uint8, uint16, int16 or float, got {}", name_, dtype_name(t));
  const DType out = has_dtype_ ? dtype_ : t;
  check(out == t || out == DType::kFloat32, "[{}] dtype: expected FLOAT or the input's type {}, got {}", name_,
        dtype_name(t), dtype_name(out));
  ctx.output(0).describe_as(in);
  ctx.output(0).dtype = out;
  ctx.output(0).shape = plan.shape();
  ctx.make_plan<ResamplePlan>() = plan;
}

const Arg<int64_t>& ResampleOperator::filter_argument(bool shrinks) const {
  const Arg<int64_t>& own = shrinks ? min_ : mag_;
  return own.given() ? own : interp_;
}

ResampleFilter ResampleOperator::filter(const SampleContext& ctx, bool shrinks) const {
  const int64_t type = filter_argument(shrinks)(ctx);
  switch (static_cast<InterpType>(type)) {
    case InterpType::kNearest: return ResampleFilter::kNearest;
    case InterpType::kLinear:
    case InterpType::kTriangular: return ResampleFilter::kLinear;
    case InterpType::kCubic: return ResampleFilter::kCubic;
    case InterpType::kLanczos3: return ResampleFilter::kLanczos3;
    case InterpType::kGaussian: return ResampleFilter::kGaussian;
  }
  fail(ErrorKind::kRuntime, "[{}] interp_type: expected one of types.INTERP_*, got {}", name_, type);
}

std::optional<Region> ResampleOperator::input_region(const SampleContext& ctx, int i, const Region& needed) const {
  if (i != 0 || ctx.input(0).volume() == 0 || needed.extent().volume() == 0) return std::nullopt;
  const ResamplePlan& plan = ctx.plan<ResamplePlan>();
  Region region = needed;
  for (int k = 0; k < static_cast<int>(plan.axes().size()); ++k) {
    ResampleAxis axis = plan[k];
    if (axis.is_identity()) continue;
    const bool shrinks = std::abs(axis.step) > 1;
    // A filter that is computed isn't known yet: the widest one.
    axis.filter = filter_argument(shrinks).is_tensor() ? ResampleFilter::kLanczos3 : filter(ctx, shrinks);
    axis.antialias = antialias_;
    std::tie(region.begin[k], region.end[k]) = resample_inputs(axis, needed.begin[k], needed.end[k]);
  }
  return region;
}

void ResampleOperator::run(SampleContext& ctx) const {
  ResamplePlan& plan = ctx.plan<ResamplePlan>();
  for (int i = 0; i < static_cast<int>(plan.axes().size()); ++i) {
    plan[i].filter = filter(ctx, std::abs(plan[i].step) > 1);
    plan[i].antialias = antialias_;
  }
  resample(ctx.input(0), plan.axes(), ctx.output(0), ctx.arena());
}

}  // namespace headrace
