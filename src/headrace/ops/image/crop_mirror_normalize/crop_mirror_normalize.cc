// crop_mirror_normalize: crop, mirror, (in - mean) * scale / std + shift, another order of axes and another type at
// once.
#include <cmath>

#include "core/convert.h"
#include "graph/registry.h"
#include "kernels/cpu/normalize_row.h"
#include "ops/geometry/crop_window.h"

namespace headrace {
namespace {

// One loop around the rows.
struct Loop {
  int64_t count = 1;
  int64_t in_step = 0;
  int64_t out_step = 0;
};

struct Plan {
  Window window;
  int64_t channels = 1;  // of the input; the output may have more
};

int64_t next_power_of_two(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

// Elements from one entry to the next along each axis of a dense tensor.
Shape dense_strides(const Shape& shape) {
  Shape strides = shape;
  int64_t step = 1;
  for (int i = shape.ndim() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

// The rows of the part of the window that lies inside the input, as up to three loops around one row.
struct Walk {
  Loop loops[3];
  NormalizeRow row;
  int64_t in_offset = 0;
  int64_t out_offset = 0;
  bool empty = false;

  Walk(const Plan& plan, const Sample& in, const Sample& out, bool mirror) {
    const Shape in_strides = dense_strides(in.stored_shape()), out_strides = dense_strides(out.shape);
    int depth = 0;
    for (int i = 0; i < in.shape.ndim(); ++i) {
      const char axis = in.layout[i];
      const int64_t anchor = plan.window.anchor[i], extent = plan.window.extent[i];
      const int64_t begin = std::max<int64_t>(anchor, 0), end = std::min(anchor + extent, in.shape[i]);
      const int64_t out_stride = out_strides[out.layout.find(axis)];
      empty = empty || begin >= end;
      in_offset += begin * in_strides[i];
      if (axis == 'W' && mirror) {
        in_offset += (end - begin - 1) * in_strides[i];
        out_offset += (anchor + extent - end) * out_stride;
      } else {
        out_offset += (begin - anchor) * out_stride;
      }
      if (axis == 'W') {
        row.pixels = end - begin;
        row.in_pixel = mirror ? -in_strides[i] : in_strides[i];
        row.out_pixel = out_stride;
      } else if (axis == 'C') {
        row.channels = plan.channels;
        row.in_channel = in_strides[i];
        row.out_channel = out_stride;
      } else {
        loops[depth++] = {end - begin, in_strides[i], out_stride};
      }
    }
    merge_rows();
  }

  // Rows that follow each other without a gap on both sides are one row.
  void merge_rows() {
    for (int i = 2; i >= 0; --i) {
      Loop& loop = loops[i];
      if (loop.count == 1) continue;
      if (loop.in_step != row.pixels * row.in_pixel || loop.out_step != row.pixels * row.out_pixel) return;
      row.pixels *= loop.count;
      loop = {};
    }
  }
};

// Writes values of the output's type as they are, not normalised.
template <typename Out> void fill(const Sample& out, int64_t first_channel, std::span<const float> values) {
  const int axis = out.layout.find('C');
  const int64_t channels = out.shape[axis], inner = dense_strides(out.shape)[axis];
  const int64_t outer = channels == 0 ? 0 : out.volume() / (channels * inner);
  Out* data = out.as<Out>();
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t c = first_channel; c < channels; ++c) {
      const float value = values.empty() ? 0.0f : values[values.size() == 1 ? 0 : static_cast<size_t>(c)];
      std::fill_n(data + (i * channels + c) * inner, inner, convert<Out>(value));
    }
  }
}

}  // namespace

class CropMirrorNormalize final : public SampleOperator {
 public:
  explicit CropMirrorNormalize(const OpSpec& spec)
      : window_(spec),
        policy_(get_bounds_policy(spec, false)),
        dtype_(spec.get_dtype("dtype")),
        output_layout_(spec.get_layout("output_layout")),
        pad_output_(spec.get_bool("pad_output")),
        mirror_(spec, "mirror"),
        mean_(spec, "mean"),
        std_(spec, "std"),
        scale_(static_cast<float>(spec.get_float("scale"))),
        shift_(static_cast<float>(spec.get_float("shift"))) {
    check(find_normalize_row(DType::kUInt8, dtype_), "[{}] dtype: expected FLOAT, FLOAT16, UINT8 or INT8, got {}",
          kName, dtype_name(dtype_));
    for (const double value : spec.get_floats("fill_values")) fill_.push_back(static_cast<float>(value));
  }

  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    check(find_normalize_row(in.dtype, dtype_),
          "[{}]: expected an input of type uint8, uint16, int16, int32, float16 or float, got {}", kName,
          dtype_name(in.dtype));
    Plan& plan = ctx.make_plan<Plan>();
    plan.window = window_(ctx, in.shape, in.layout);
    apply_bounds_policy(policy_, in.shape, in.layout, plan.window, kName);
    plan.channels = in.shape[in.layout.find('C')];
    check(fill_.size() <= 1 || static_cast<int64_t>(fill_.size()) == plan.channels,
          "[{}] fill_values: expected 1 value or one for each of {} channels, got {}", kName, plan.channels,
          fill_.size());
    Sample& out = ctx.output(0);
    out.describe_as(in);
    out.dtype = dtype_;
    out.layout = output_layout_.empty() ? in.layout : output_layout_;
    check(out.layout.ndim() == in.layout.ndim(), "[{}] output_layout: expected the letters of \"{}\", got \"{}\"",
          kName, in.layout, out.layout);
    for (int i = 0; i < out.layout.ndim(); ++i) {
      const int axis = in.layout.find(out.layout[i]);
      check(axis >= 0 && out.layout.find(out.layout[i]) == i,
            "[{}] output_layout: expected each letter of \"{}\" once, got \"{}\"", kName, in.layout, out.layout);
      const bool padded = pad_output_ && out.layout[i] == 'C';
      out.shape[i] = padded ? next_power_of_two(plan.channels) : plan.window.extent[axis];
    }
  }

  std::optional<Region> input_region(const SampleContext& ctx, int, const Region&) const override {
    return ctx.plan<Plan>().window.region().within(ctx.input(0).shape);
  }

  void run(SampleContext& ctx) const override {
    const Plan& plan = ctx.plan<Plan>();
    const Sample& in = ctx.input(0);
    const Sample& out = ctx.output(0);
    if (!plan.window.inside(in.shape)) {
      fill_from(out, 0, fill_);
    }
    const int64_t out_channels = out.shape[out.layout.find('C')];
    if (out_channels > plan.channels) fill_from(out, plan.channels, {});
    Walk walk(plan, in, out, mirror_(ctx) != 0);
    if (walk.empty) return;
    set_constants(ctx, walk.row);
    run_rows(walk, in, out);
  }

 private:
  static constexpr std::string_view kName = "crop_mirror_normalize";

  void fill_from(const Sample& out, int64_t first_channel, std::span<const float> values) const {
    switch (dtype_) {
      case DType::kFloat32: return fill<float>(out, first_channel, values);
      case DType::kFloat16: return fill<Float16>(out, first_channel, values);
      case DType::kUInt8: return fill<uint8_t>(out, first_channel, values);
      default: return fill<int8_t>(out, first_channel, values);
    }
  }

  void set_constants(const SampleContext& ctx, NormalizeRow& row) const {
    const std::span<const float> mean = mean_(ctx), deviation = std_(ctx);
    const size_t channels = static_cast<size_t>(row.channels);
    check(mean.size() == 1 || mean.size() == channels,
          "[{}] mean: expected 1 value or one for each of {} channels, got {}", kName, channels, mean.size());
    check(deviation.size() == 1 || deviation.size() == channels,
          "[{}] std: expected 1 value or one for each of {} channels, got {}", kName, channels, deviation.size());
    float* means = ctx.arena().allocate_array<float>(2 * channels).data();
    float* factors = means + channels;
    for (size_t c = 0; c < channels; ++c) {
      means[c] = mean[mean.size() == 1 ? 0 : c];
      factors[c] = scale_ / deviation[deviation.size() == 1 ? 0 : c];
    }
    row.mean = means;
    row.factor = factors;
    row.shift = shift_;
  }

  void run_rows(const Walk& walk, const Sample& in, const Sample& out) const {
    const NormalizeRowFn normalize_row = find_normalize_row(in.dtype, dtype_);
    const int64_t in_size = static_cast<int64_t>(dtype_size(in.dtype));
    const int64_t out_size = static_cast<int64_t>(dtype_size(out.dtype));
    const uint8_t* const origin = in.origin();
    const auto& [a, b, c] = walk.loops;
    NormalizeRow row = walk.row;
    for (int64_t i = 0; i < a.count; ++i) {
      for (int64_t j = 0; j < b.count; ++j) {
        for (int64_t k = 0; k < c.count; ++k) {
          const int64_t from = walk.in_offset + i * a.in_step + j * b.in_step + k * c.in_step;
          const int64_t to = walk.out_offset + i * a.out_step + j * b.out_step + k * c.out_step;
          row.in = origin + from * in_size;
          row.out = out.as<uint8_t>() + to * out_size;
          normalize_row(row);
        }
      }
    }
  }

  CropWindow window_;
  BoundsPolicy policy_;
  DType dtype_;
  Layout output_layout_;
  bool pad_output_;
  Arg<int32_t> mirror_;
  ArgList<float> mean_, std_;
  float scale_, shift_;
  std::vector<float> fill_;
};

void register_image_crop_mirror_normalize(Registry& r) {
  Schema schema("crop_mirror_normalize");
  schema
      .doc(
          "Crops, mirrors and normalises images in one pass: `out = (in - mean) * scale / std + shift`, in float, then "
          "converted to `dtype` (integers: rounded half away from zero, clamped), in the order of axes "
          "`output_layout`. Inputs: uint8, uint16, int16, int32, float16, float.")
      .input("data", {.layouts = {"HWC", "CHW", "DHWC", "CDHW", "FHWC", "FCHW", "CFHW", "FDHWC", "FCDHW", "CFDHW"}});
  CropWindow::declare(schema);
  schema
      .arg("dtype", ArgType::kDType, static_cast<int64_t>(DType::kFloat32),
           "Type of the output: FLOAT, FLOAT16, UINT8, INT8.")
      .deprecated_arg("output_dtype", "dtype")
      .arg("output_layout", ArgType::kLayout, std::string("CHW"),
           "Axes of the output: the input's letters in any order. A sequence needs its F, a volume its D. Empty: as "
           "the input.")
      .arg("pad_output", ArgType::kBool, false,
           "Add channels up to the next power of two (3 becomes 4). They hold 0, whatever `shift`.")
      .arg("out_of_bounds_policy", ArgType::kString, std::string("error"),
           "A window that reaches beyond the image is an `\"error\"`, is filled with `fill_values` (`\"pad\"`), or is "
           "cut "
           "(`\"trim_to_shape\"`).")
      .arg("fill_values", ArgType::kFloatList, std::vector<double>{0.0},
           "Values outside the image, one or one for each channel; they aren't normalised.")
      .arg("mirror", ArgType::kInt, 0, "Not 0: mirror horizontally, after the crop.", PerSample::kAllowed)
      .not_for_shapes()
      .arg("mean", ArgType::kFloatList, std::vector<double>{0.0},
           "What is subtracted, one value or one for each channel.", PerSample::kAllowed)
      .not_for_shapes()
      .arg("std", ArgType::kFloatList, std::vector<double>{1.0},
           "What is divided by, one value or one for each channel. 0 gives infinity.", PerSample::kAllowed)
      .not_for_shapes()
      .arg("scale", ArgType::kFloat, 1.0,
           "Factor after the division by `std`, for example the range of an integer type.")
      .arg("shift", ArgType::kFloat, 0.0, "What is added last.")
      .ignored_arg("image_type", ArgType::kImageType, "The channels of the input say it.");
  r.add<CropMirrorNormalize>(std::move(schema));
}

}  // namespace headrace
