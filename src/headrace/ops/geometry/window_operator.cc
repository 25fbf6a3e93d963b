// What crop and slice share.
#include "ops/geometry/window_operator.h"

#include "graph/operator.h"

namespace headrace {

WindowOperator::WindowOperator(const OpSpec& spec)
    : name_(spec.schema->name()), has_dtype_(spec.has("dtype")), policy_(get_bounds_policy(spec, true)) {
  if (has_dtype_) dtype_ = spec.get_dtype("dtype");
  check(!has_dtype_ || dtype_size(dtype_) > 0, "{}: expected an element type", spec.about("dtype"));
  for (const double value : spec.get_floats("fill_values")) fill_.push_back(static_cast<float>(value));
}

void WindowOperator::declare(Schema& schema) {
  schema
      .arg("dtype", ArgType::kDType, {},
           "Type of the output; default: that of the input. Numbers are rounded half away from zero and clamped.")
      .deprecated_arg("output_dtype", "dtype")
      .arg("out_of_bounds_policy", ArgType::kString, std::string("error"),
           "Where the window reaches beyond the input: `\"error\"`; `\"pad\"` (`\"constant\"`): `fill_values`; "
           "`\"trim_to_shape\"`: the window is cut; `\"clamp\"` (`\"edge\"`), `\"reflect\"` (`\"reflect_1001\"`, the "
           "edge "
           "repeated), `\"reflect_101\"`, `\"wrap\"`: the input goes on that way.")
      .arg("fill_values", ArgType::kFloatList, std::vector<double>{0.0},
           "What lies outside with `\"pad\"`: one value or one for each channel.")
      .ignored_arg("image_type", ArgType::kImageType, "The input's channels say it.");
}

void WindowOperator::infer(SampleContext& ctx, Window window) const {
  const Sample& in = ctx.input(0);
  apply_bounds_policy(policy_, in.shape, in.layout, window, name_);
  Sample& out = ctx.output(0);
  out.describe_as(in);
  out.shape = window.extent;
  if (has_dtype_) out.dtype = dtype_;
  if (fill_.size() > 1 && policy_ == BoundsPolicy::kPad) {
    const int64_t channels = out.shape.ndim() > 0 ? out.shape[channel_axis(out)] : 0;
    check(static_cast<int64_t>(fill_.size()) == channels,
          "[{}] fill_values: expected 1 value or one for each of {} channels, got {}", name_, channels, fill_.size());
  }
  ctx.make_plan<Window>() = window;
}

std::optional<Region> WindowOperator::input_region(const SampleContext& ctx, int i, const Region& needed) const {
  if (i != 0) return std::nullopt;
  const Shape& shape = ctx.input(0).shape;
  const Window& window = ctx.plan<Window>();
  // Borders that continue the image may take their values from anywhere in it.
  const bool constant_borders = policy_ == BoundsPolicy::kPad || policy_ == BoundsPolicy::kTrim;
  if (!constant_borders && !window.inside(shape)) return std::nullopt;
  return window.part(needed).region().within(shape);
}

void WindowOperator::run(SampleContext& ctx) const {
  Sample out = ctx.output(0);
  Window window = ctx.plan<Window>();
  if (out.region) {
    window = window.part(*out.region);
    out.shape = out.stored_shape();
  }
  copy_window(ctx.input(0), window, policy_, fill_, out, ctx.arena());
}

}  // namespace headrace
