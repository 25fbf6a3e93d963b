// tensor_resize: resamples any axes of tensors.
#include <algorithm>

#include "graph/registry.h"
#include "ops/geometry/resample_operator.h"
#include "ops/geometry/resize_rule.h"

namespace headrace {
namespace {

SizeRounding parse_rounding(const OpSpec& spec) {
  const std::string& text = spec.get_string("size_rounding");
  if (text == "truncate") return SizeRounding::kTruncate;
  if (text == "ceil") return SizeRounding::kCeil;
  check(text == "round", "{}: expected \"round\", \"truncate\" or \"ceil\", got \"{}\"", spec.about("size_rounding"),
        text);
  return SizeRounding::kRound;
}

}  // namespace

class TensorResize final : public SampleOperator {
 public:
  explicit TensorResize(const OpSpec& spec);

  void infer(SampleContext& ctx) const override;
  std::optional<Region> input_region(const SampleContext& ctx, int i, const Region& needed) const override {
    return base_.input_region(ctx, i, needed);
  }
  bool writes_regions() const override { return true; }
  void run(SampleContext& ctx) const override { base_.run(ctx); }

 private:
  // The axes to be resized, in the order of the arguments. Returns how many.
  size_t find_axes(const Sample& in, std::span<int> axes) const;

  ResampleOperator base_;
  ResizeRule rule_;
  SizeRounding rounding_;
  ArgList<double> sizes_, scales_, alignment_;
  bool has_axes_, has_names_;
  std::vector<int64_t> axes_;
  Layout names_;
  std::string about_sizes_, about_scales_, about_alignment_, about_axes_, about_names_;
};

TensorResize::TensorResize(const OpSpec& spec)
    : base_(spec),
      rule_(spec),
      rounding_(parse_rounding(spec)),
      sizes_(spec, "sizes"),
      scales_(spec, "scales"),
      alignment_(spec, "alignment"),
      has_axes_(spec.has("axes")),
      has_names_(spec.has("axis_names")),
      about_sizes_(spec.about("sizes")),
      about_scales_(spec.about("scales")),
      about_alignment_(spec.about("alignment")),
      about_axes_(spec.about("axes")),
      about_names_(spec.about("axis_names")) {
  check(sizes_.given() != scales_.given(), "{}: expected either sizes or scales", about_sizes_);
  check(!has_axes_ || !has_names_, "{}: expected axes or axis_names, got both", about_axes_);
  if (has_axes_) axes_ = spec.get_ints("axes");
  if (has_names_) names_ = spec.get_layout("axis_names");
  const bool one_scale = rule_.mode() == ResizeMode::kNotLarger || rule_.mode() == ResizeMode::kNotSmaller;
  check(!scales_.given() || !one_scale, "{}: expected sizes in the modes \"not_larger\" and \"not_smaller\"",
        about_scales_);
}

size_t TensorResize::find_axes(const Sample& in, std::span<int> axes) const {
  const int ndim = in.shape.ndim();
  const size_t count = has_axes_    ? axes_.size()
                       : has_names_ ? static_cast<size_t>(names_.ndim())
                                    : static_cast<size_t>(ndim);
  if (count > static_cast<size_t>(ndim)) {
    fail(ErrorKind::kValue, "{}: expected at most {} axes, got {}", about_axes_, ndim, count);
  }
  for (size_t i = 0; i < count; ++i) {
    int axis = static_cast<int>(i);
    if (has_axes_) {
      if (axes_[i] < -ndim || axes_[i] >= ndim) {
        fail(ErrorKind::kIndex, "{}: expected {} to {}, got {}", about_axes_, -ndim, ndim - 1, axes_[i]);
      }
      axis = static_cast<int>(axes_[i] < 0 ? axes_[i] + ndim : axes_[i]);
    } else if (has_names_) {
      axis = in.layout.find(names_[axis]);
      check(axis >= 0, "{}: axis {} is not in the input's layout \"{}\"", about_names_, names_[static_cast<int>(i)],
            in.layout);
    }
    check_value(std::find(axes.begin(), axes.begin() + i, axis) == axes.begin() + i, "{}: axis {} occurs twice",
                about_axes_, axis);
    axes[i] = axis;
  }
  return count;
}

void TensorResize::infer(SampleContext& ctx) const {
  const Sample& in = ctx.input(0);
  std::array<int, Shape::kMaxDims> axes{};
  std::array<int64_t, Shape::kMaxDims> extents{};
  std::array<ResizeRequest, Shape::kMaxDims> list;
  const size_t count = find_axes(in, axes);
  for (size_t i = 0; i < count; ++i) extents[i] = in.shape[axes[i]];
  const std::span requests = std::span(list).first(count);
  rule_.fill_requests(ctx, std::span(extents).first(count), requests);
  for (size_t i = 0; i < count; ++i) {
    const double extent = static_cast<double>(extents[i]);
    requests[i].size = sizes_.given() ? axis_value(sizes_(ctx), i, count, about_sizes_)
                                      : extent * axis_value(scales_(ctx), i, count, about_scales_);
    requests[i].alignment = axis_value(alignment_(ctx), i, count, about_alignment_);
  }
  complete_sizes(rule_.mode(), requests);
  ResamplePlan plan(in.shape);
  for (size_t i = 0; i < count; ++i) plan[axes[i]] = place_axis(requests[i], rounding_, rule_.subpixel());
  base_.infer(ctx, plan);
}

void register_geometry_tensor_resize(Registry& r) {
  for (const char* name : {"tensor_resize", "experimental.tensor_resize"}) {
    Schema schema(name);
    schema.doc("Resamples any axes of a tensor to given `sizes`, or by given `scales`. Other axes are left alone.")
        .input("data")
        .arg("sizes", ArgType::kFloatList, {},
             "Extents of the output, one for all axes or one for each, in elements; 0: as the mode says; a negative "
             "size mirrors the axis.",
             PerSample::kAllowed)
        .arg("scales", ArgType::kFloatList, {},
             "Extents of the output by those of the input, one for all axes or one for each; instead of `sizes`.",
             PerSample::kAllowed)
        .arg("axes", ArgType::kIntList, {},
             "The axes that are resized; negative ones count from the last. Default: "
             "all.")
        .arg("axis_names", ArgType::kLayout, {}, "The axes that are resized, by their letters in the layout.")
        .arg("alignment", ArgType::kFloatList, std::vector<double>{0.5},
             "Where the region that is resized keeps its place when it grows or shrinks (see `subpixel_scale`): 0 at "
             "its start, 0.5 at its centre, 1 at its end; one for all axes or one for each.",
             PerSample::kAllowed)
        .arg("size_rounding", ArgType::kString, std::string("round"),
             "How sizes become integers: `\"round\"` (halves up), `\"truncate\"` or `\"ceil\"`.");
    ResizeRule::declare(schema);
    ResampleOperator::declare(schema);
    if (schema.name() != "tensor_resize") schema.deprecated("Use `tensor_resize`.");
    r.add<TensorResize>(std::move(schema));
  }
}

}  // namespace headrace
