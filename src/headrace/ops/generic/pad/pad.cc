// pad: enlarges samples at the end of their axes, to a given shape or to the largest extent in the batch.
#include <algorithm>
#include <cstring>

#include "core/convert.h"
#include "graph/registry.h"

namespace headrace {
namespace {

// Copies `in` to the corner of `out` and fills the rest, in elements of type T (an integer type of the right size).
template <typename T>
void pad_axes(const T*& in, const Shape& in_shape, T*& out, const Shape& out_shape, int axis, T fill) {
  int64_t row = 1;  // elements of one step along `axis` in the output
  for (int i = axis + 1; i < out_shape.ndim(); ++i) row *= out_shape[i];
  bool whole = true;  // everything below `axis` is equal in both
  for (int i = axis + 1; i < out_shape.ndim(); ++i) whole &= in_shape[i] == out_shape[i];
  if (whole) {
    const int64_t count = in_shape[axis] * row;
    if (count > 0) std::memcpy(out, in, static_cast<size_t>(count) * sizeof(T));
    in += count;
    out += count;
  } else {
    for (int64_t i = 0; i < in_shape[axis]; ++i) pad_axes(in, in_shape, out, out_shape, axis + 1, fill);
  }
  const int64_t rest = (out_shape[axis] - in_shape[axis]) * row;
  std::fill(out, out + rest, fill);
  out += rest;
}

template <typename Bits> void pad_bits(const Sample& in, const Sample& out, const void* fill_value) {
  Bits fill;
  std::memcpy(&fill, fill_value, sizeof(fill));
  const Bits* from = in.as<const Bits>();
  Bits* to = out.as<Bits>();
  pad_axes(from, in.shape, to, out.shape, 0, fill);
}

void pad_sample(const Sample& in, const Sample& out, double fill_value) {
  if (out.volume() == 0) return;
  uint64_t fill = 0;
  convert_array(&fill_value, DType::kFloat64, &fill, out.dtype, 1);
  switch (dtype_size(out.dtype)) {
    case 1: return pad_bits<uint8_t>(in, out, &fill);
    case 2: return pad_bits<uint16_t>(in, out, &fill);
    case 4: return pad_bits<uint32_t>(in, out, &fill);
    default: return pad_bits<uint64_t>(in, out, &fill);
  }
}

// A short list of integers without an allocation.
struct Numbers {
  std::array<int64_t, Shape::kMaxDims> values;
  int count = 0;

  int64_t operator[](int i) const { return values[static_cast<size_t>(i)]; }
  // One value stands for all axes.
  int64_t for_axis(int i) const { return values[count == 1 ? 0 : static_cast<size_t>(i)]; }
};

// An argument of both kinds of pad, which read their tensors from different contexts.
class NumbersArg {
 public:
  NumbersArg(const OpSpec& spec, std::string_view name)
      : about_(spec.about(name)), given_(spec.has(name)), tensor_(spec.tensor_index(name)) {
    if (spec.has_constant(name)) {
      const std::vector<int64_t>& list = spec.get_ints(name);
      constant_ = take(list.data(), DType::kInt64, static_cast<int64_t>(list.size()));
    }
  }

  bool given() const { return given_; }
  int tensor() const { return tensor_; }
  const Numbers& constant() const { return constant_; }
  Numbers read(const Sample* tensor) const {
    return tensor ? take(tensor->data, tensor->dtype, tensor->volume()) : constant_;
  }

 private:
  Numbers take(const void* data, DType dtype, int64_t count) const {
    check(count <= Shape::kMaxDims, "{}: expected at most {} values, got {}", about_, Shape::kMaxDims, count);
    Numbers numbers;
    numbers.count = static_cast<int>(count);
    convert_array(data, dtype, numbers.values.data(), DType::kInt64, count);
    return numbers;
  }

  std::string about_;
  bool given_;
  int tensor_;
  Numbers constant_;
};

// The arguments, and what follows from them for one sample. `tensor` gives an argument's tensor by its position, or
// null for -1.
class PadRule {
 public:
  explicit PadRule(const OpSpec& spec)
      : axes_(spec, "axes"),
        shape_(spec, "shape"),
        align_(spec, "align"),
        fill_tensor_(spec.tensor_index("fill_value")),
        fill_(fill_tensor_ < 0 ? spec.get_float("fill_value") : 0) {
    if (!spec.has("axis_names")) return;
    check(!axes_.given(), "[pad]: expected one of axes and axis_names, got both");
    axis_names_ = spec.get_layout("axis_names");
  }

  // No output depends on the batch: the shape is there for every axis.
  static bool is_complete(const OpSpec& spec) {
    const NumbersArg shape(spec, "shape");
    if (!spec.has_constant("shape") || shape.constant().count == 0) return false;
    const auto& values = shape.constant().values;
    return std::all_of(values.begin(), values.begin() + shape.constant().count, [](int64_t v) { return v > 0; });
  }

  // `largest`: extents of the batch, for axes without a requested one.
  template <typename Tensors> Shape padded_shape(const Sample& in, const Shape& largest, const Tensors& tensor) const {
    check(in.shape.ndim() > 0, "[pad]: expected samples with at least one axis, got scalars");
    const Numbers axes = chosen_axes(in, axes_.read(tensor(axes_.tensor())));
    const Numbers shape = shape_.read(tensor(shape_.tensor()));
    const Numbers align = align_.read(tensor(align_.tensor()));
    check_count("shape", shape, axes);
    check_count("align", align, axes);
    Shape out = in.shape;
    for (int i = 0; i < axes.count; ++i) {
      const int axis = static_cast<int>(axes[i]);
      const int64_t requested = shape.count > 0 ? shape.for_axis(i) : 0;
      int64_t extent = std::max(in.shape[axis], requested > 0 ? requested : largest[axis]);
      if (align.count > 0) {
        const int64_t unit = align.for_axis(i);
        check(unit > 0, "[pad] align: expected positive numbers, got {}", unit);
        const int64_t units = extent / unit + (extent % unit > 0 ? 1 : 0);
        check(!__builtin_mul_overflow(units, unit, &extent), "[pad] align: {} elements are more than there can be",
              unit);
      }
      out[axis] = extent;
    }
    checked_volume(out, dtype_size(in.dtype), "[pad] shape");
    return out;
  }

  template <typename Tensors> double fill_value(const Tensors& tensor) const {
    const Sample* sample = tensor(fill_tensor_);
    if (!sample) return fill_;
    check(sample->volume() == 1, "[pad] fill_value: expected one value per sample, got shape {}", sample->shape);
    double value = 0;
    convert_array(sample->data, sample->dtype, &value, DType::kFloat64, 1);
    return value;
  }

 private:
  static void check_count(const char* name, const Numbers& numbers, const Numbers& axes) {
    check(numbers.count <= 1 || numbers.count == axes.count,
          "[pad] {}: expected a value for each of the {} axes, got {}", name, axes.count, numbers.count);
  }

  // Axes from 0 on, each once; without axes or axis_names, all.
  Numbers chosen_axes(const Sample& in, Numbers axes) const {
    const int ndim = in.shape.ndim();
    for (const char letter : axis_names_.str()) {
      const int axis = in.layout.find(letter);
      check(axis >= 0, "[pad] axis_names: no axis {} in the layout \"{}\"", letter, in.layout);
      axes.values[static_cast<size_t>(axes.count++)] = axis;
    }
    bool seen[Shape::kMaxDims] = {};
    for (int i = 0; i < axes.count; ++i) {
      int64_t& axis = axes.values[static_cast<size_t>(i)];
      check(axis >= -ndim && axis < ndim, "[pad] axes: expected {} .. {}, got {}", -ndim, ndim - 1, axis);
      if (axis < 0) axis += ndim;
      check(!seen[axis], "[pad] axes: axis {} is named twice", axis);
      seen[axis] = true;
    }
    if (axes.count > 0) return axes;
    for (int i = 0; i < ndim; ++i) axes.values[static_cast<size_t>(i)] = i;
    axes.count = ndim;
    return axes;
  }

  const NumbersArg axes_;
  const NumbersArg shape_;
  const NumbersArg align_;
  const int fill_tensor_;
  const double fill_;
  Layout axis_names_;
};

// Looks arguments up in a sample's context.
auto tensors_of(const SampleContext& ctx) {
  return [&ctx](int i) { return i < 0 ? nullptr : &ctx.argument(i); };
}

class PadToShape : public SampleOperator {
 public:
  explicit PadToShape(const OpSpec& spec) : rule_(spec) {}

  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    ctx.output(0).describe_as(in);
    ctx.output(0).shape = rule_.padded_shape(in, in.shape, tensors_of(ctx));
  }

  void run(SampleContext& ctx) const override {
    pad_sample(ctx.input(0), ctx.output(0), rule_.fill_value(tensors_of(ctx)));
  }

 private:
  const PadRule rule_;
};

class PadToLargest : public BatchOperator {
 public:
  explicit PadToLargest(const OpSpec& spec) : rule_(spec) {}

  void run(BatchContext& ctx) const override {
    const Batch& in = *ctx.inputs[0];
    auto out = make_ref<Batch>(ctx.pool, in.size());
    out->rows = in.rows;
    out->keep_alive = in.keep_alive;
    if (in.size() == 0) out->set_type(in.dtype(), in.ndim(), in.layout());
    Shape largest = in.size() > 0 ? in[0].shape : Shape();
    for (int i = 1; i < in.size(); ++i) {
      for (int axis = 0; axis < largest.ndim(); ++axis) largest[axis] = std::max(largest[axis], in[i].shape[axis]);
    }
    for (int i = 0; i < in.size(); ++i) {
      const auto tensors = [&](int k) { return k < 0 ? nullptr : &(*ctx.arguments[static_cast<size_t>(k)])[i]; };
      Sample padded;
      padded.describe_as(in[i]);
      padded.shape = rule_.padded_shape(in[i], largest, tensors);
      padded.data = out->claim(i, padded);
      pad_sample(in[i], padded, rule_.fill_value(tensors));
    }
    ctx.outputs[0] = out;
  }

 private:
  const PadRule rule_;
};

}  // namespace

void register_generic_pad(Registry& r) {
  r.add(Schema("pad")
            .doc("Enlarges samples at the end of the chosen axes and fills what is new. Each axis grows to the extent "
                 "asked for, or else to the largest one in the batch; samples are never cut.")
            .input("data", {.doc = "Tensors with at least one axis."})
            .arg("axes", ArgType::kIntList, {}, "Axes to pad; negative ones count from the last. All by default.",
                 PerSample::kAllowed)
            .arg("axis_names", ArgType::kLayout, {}, "Letters of the axes to pad, instead of `axes`.")
            .arg("shape", ArgType::kIntList, {},
                 "Extents, one for all chosen axes or one for each; 0 or negative: the batch's largest.",
                 PerSample::kAllowed)
            .arg("align", ArgType::kIntList, {},
                 "The padded extents are rounded up to multiples of these: one for all chosen axes or one for each.",
                 PerSample::kAllowed)
            .arg("fill_value", ArgType::kFloat, 0.0, "Value of new elements, rounded and clamped to the type.",
                 PerSample::kAllowed)
            .not_for_shapes(),
        [](const OpSpec& spec) -> std::unique_ptr<Operator> {
          if (PadRule::is_complete(spec)) return std::make_unique<PadToShape>(spec);
          return std::make_unique<PadToLargest>(spec);
        });
}

}  // namespace headrace
