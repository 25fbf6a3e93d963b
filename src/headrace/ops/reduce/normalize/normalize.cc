// normalize: subtracts the mean and divides by the standard deviation, both given or computed over axes.
#include <array>
#include <cmath>

#include "core/convert.h"
#include "graph/registry.h"
#include "kernels/cpu/normalize_row.h"
#include "kernels/cpu/operand_tiles.h"
#include "kernels/cpu/tile_kernel.h"
#include "ops/reduce/accumulate.h"

namespace headrace {
namespace {

using InputTypes = TypeList<uint8_t, uint16_t, uint32_t, int8_t, int16_t, int32_t, float>;

// The mean and the factor for each position of the axes that are not reduced.
struct Parameters {
  std::span<float> means;
  std::span<float> factors;
};

// The constant arguments, and the formulas.
class Normalization {
 public:
  explicit Normalization(const OpSpec& spec)
      : axes(spec),
        dtype_(spec.get_dtype("dtype")),
        ddof_(spec.get_int("ddof")),
        epsilon_(static_cast<float>(spec.get_float("epsilon"))),
        scale_(static_cast<float>(spec.get_float("scale"))),
        shift_(static_cast<float>(spec.get_float("shift"))) {
    visit_dtype(dtype_, InputTypes(), "[normalize] dtype", []<typename T>() {});
    check(!axes.given() || !spec.has_constant("mean") || !spec.has_constant("stddev"),
          "[normalize] axes: not allowed when mean and stddev are both numbers, as nothing is reduced");
  }

  void describe(const Sample& in, Sample& out) const {
    visit_dtype(in.dtype, InputTypes(), "[normalize] input", []<typename T>() {});
    out.describe_as(in);
    out.dtype = dtype_;
  }

  AxisSet resolve_axes(const Sample& in) const {
    const AxisSet reduced = axes.resolve(in.shape.ndim(), in.layout, ErrorKind::kRuntime);
    check(!axes.given() || reduced != 0, "[normalize] axes: expected at least one axis");
    return reduced;
  }

  void means_from_sums(const double* sums, int64_t elements, std::span<float> means) const {
    for (size_t i = 0; i < means.size(); ++i) means[i] = static_cast<float>(sums[i] / static_cast<double>(elements));
  }

  // Where nothing deviates, the factor is 0: the result is `shift`.
  void factors_from_squares(const double* squares, int64_t elements, std::span<float> factors) const {
    const double divisor = static_cast<double>(elements - ddof_);
    for (size_t i = 0; i < factors.size(); ++i) {
      const double variance = (divisor > 0 ? squares[i] / divisor : 0) + epsilon_;
      factors[i] = variance > 0 ? static_cast<float>(scale_ / std::sqrt(variance)) : 0.0f;
    }
  }

  void factors_from_deviations(std::span<const float> deviations, std::span<float> factors) const {
    for (size_t i = 0; i < factors.size(); ++i) {
      const float deviation = deviations[deviations.size() == 1 ? 0 : i];
      factors[i] = scale_ / (epsilon_ == 0 ? deviation : std::sqrt(deviation * deviation + epsilon_));
    }
  }

  // out = (in - mean) * factor + shift, the parameters broadcast from `kept`.
  void apply(const Sample& in, const Shape& kept, const Parameters& parameters, const Sample& out, Arena& arena) const {
    if (in.volume() == 0) return;
    const std::array<Shape, 3> shapes = {in.shape, kept, kept};
    const Broadcast broadcast = merge_axes(shapes, in.shape);
    const int64_t channels = broadcast.period(1);
    const NormalizeRowFn normalize_row = find_normalize_row(in.dtype, out.dtype);
    if (normalize_row && channels > 0 && channels <= kMaxChannels) {
      normalize_row({.in = in.data,
                     .out = out.data,
                     .pixels = in.volume() / channels,
                     .channels = channels,
                     .in_pixel = channels,
                     .out_pixel = channels,
                     .mean = parameters.means.data(),
                     .factor = parameters.factors.data(),
                     .shift = shift_});
    } else {
      apply_in_tiles(in, kept, broadcast, parameters, out, arena);
    }
  }

  const AxesArg axes;

 private:
  // Up to here parameters that repeat are a matter of channels, for which there is a kernel.
  static constexpr int64_t kMaxChannels = 16;

  void apply_in_tiles(const Sample& in, const Shape& kept, const Broadcast& broadcast, const Parameters& parameters,
                      const Sample& out, Arena& arena) const {
    static const TileKernel normalize_tile = vector_kernel<float, float, float, float>(
        [](float x, float mean, float factor) { return (x - mean) * factor; });
    const int64_t volume = in.volume();
    const Sample means = floats(parameters.means.data(), kept), factors = floats(parameters.factors.data(), kept);
    OperandTiles values(in, 0, broadcast, volume, DType::kFloat32, arena);
    OperandTiles mean_tiles(means, 1, broadcast, volume, DType::kFloat32, arena);
    OperandTiles factor_tiles(factors, 2, broadcast, volume, DType::kFloat32, arena);
    float* tile = out.dtype == DType::kFloat32 ? nullptr : arena.allocate_array<float>(kTileSize).data();
    for (int64_t offset = 0; offset < volume; offset += kTileSize) {
      const int64_t count = std::min(kTileSize, volume - offset);
      uint8_t* to = out.as<uint8_t>() + static_cast<size_t>(offset) * dtype_size(out.dtype);
      const void* operands[] = {values.at(offset, count), mean_tiles.at(offset, count), factor_tiles.at(offset, count)};
      float* result = tile ? tile : reinterpret_cast<float*>(to);
      normalize_tile(result, operands, count);
      for (int64_t i = 0; shift_ != 0 && i < count; ++i) result[i] += shift_;
      if (tile) convert_array(tile, DType::kFloat32, to, out.dtype, count);
    }
  }

  static Sample floats(float* data, const Shape& shape) {
    Sample sample;
    sample.data = data;
    sample.dtype = DType::kFloat32;
    sample.shape = shape;
    return sample;
  }

  const DType dtype_;
  const int64_t ddof_;
  const float epsilon_;
  const float scale_;
  const float shift_;
};

// `mean` or `stddev`: nothing, a number, or a tensor for each sample of the shape that is left when axes are reduced.
class ParameterArg {
 public:
  ParameterArg(const OpSpec& spec, std::string_view name) : name_(spec.about(name)), tensor_(spec.tensor_index(name)) {
    given_ = spec.has(name);
    if (spec.has_constant(name)) constant_ = static_cast<float>(spec.get_float(name));
  }

  bool given() const { return given_; }
  bool is_tensor() const { return tensor_ >= 0; }
  float constant() const { return constant_; }
  const Shape* shape(const SampleContext& ctx) const { return is_tensor() ? &ctx.argument(tensor_).shape : nullptr; }

  void check_shape(const SampleContext& ctx, const Shape& kept) const {
    const Shape* own = shape(ctx);
    if (!own) return;
    check(own->volume() == 1 || *own == kept,
          "{}: expected one value or shape {}, that of the input with 1 for each reduced axis; got shape {}", name_,
          kept, *own);
  }

  // One value, or one for each position.
  std::span<const float> read(const SampleContext& ctx) const {
    if (!is_tensor()) return {&constant_, 1};
    const Sample& value = ctx.argument(tensor_);
    const std::span<float> values = ctx.arena().allocate_array<float>(static_cast<size_t>(value.volume()));
    convert_array(value.data, value.dtype, values.data(), DType::kFloat32, value.volume());
    return values;
  }

 private:
  const std::string name_;
  const int tensor_;
  bool given_ = false;
  float constant_ = 0;
};

// Each sample for itself.
class Normalize : public SampleOperator {
 public:
  explicit Normalize(const OpSpec& spec) : normalization_(spec), mean_(spec, "mean"), stddev_(spec, "stddev") {}

  void infer(SampleContext& ctx) const override { normalization_.describe(ctx.input(0), ctx.output(0)); }

  void run(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    const AxisSet reduced = reduced_axes(ctx);
    const Shape kept = kept_shape(in.shape, reduced);
    mean_.check_shape(ctx, kept);
    stddev_.check_shape(ctx, kept);
    const size_t count = static_cast<size_t>(kept.volume());
    const Parameters parameters = {ctx.arena().allocate_array<float>(count), ctx.arena().allocate_array<float>(count)};
    const int64_t elements = reduced_volume(in.shape, reduced);
    if (mean_.given()) {
      const std::span<const float> means = mean_.read(ctx);
      for (size_t i = 0; i < count; ++i) parameters.means[i] = means[means.size() == 1 ? 0 : i];
    } else {
      normalization_.means_from_sums(reduce(ctx, reduced, Reduction::kRealSum, nullptr), elements, parameters.means);
    }
    if (stddev_.given()) {
      normalization_.factors_from_deviations(stddev_.read(ctx), parameters.factors);
    } else {
      const double* squares = reduce(ctx, reduced, Reduction::kSquaredDeviations, parameters.means.data());
      normalization_.factors_from_squares(squares, elements, parameters.factors);
    }
    normalization_.apply(in, kept, parameters, ctx.output(0), ctx.arena());
  }

 private:
  // Those given; else those along which a tensor argument has extent 1; else all.
  AxisSet reduced_axes(const SampleContext& ctx) const {
    const Sample& in = ctx.input(0);
    if (normalization_.axes.given()) return normalization_.resolve_axes(in);
    for (const ParameterArg* parameter : {&mean_, &stddev_}) {
      const Shape* shape = parameter->shape(ctx);
      if (!shape || shape->ndim() != in.shape.ndim() || shape->volume() == 1) continue;
      AxisSet reduced = 0;
      for (int axis = 0; axis < shape->ndim(); ++axis) reduced |= AxisSet{(*shape)[axis] == 1} << axis;
      return reduced;
    }
    return all_axes(in.shape.ndim());
  }

  static const double* reduce(const SampleContext& ctx, AxisSet reduced, Reduction reduction, const float* means) {
    const Sample& in = ctx.input(0);
    void* sums = make_accumulators(reduction, in.dtype, kept_shape(in.shape, reduced).volume(), ctx.arena());
    accumulate(reduction, in, reduced, means, sums, ctx.arena());
    return static_cast<const double*>(sums);
  }

  const Normalization normalization_;
  const ParameterArg mean_;
  const ParameterArg stddev_;
};

// One mean and deviation for the whole batch.
class NormalizeBatch : public BatchOperator {
 public:
  explicit NormalizeBatch(const OpSpec& spec) : normalization_(spec), mean_(spec, "mean"), stddev_(spec, "stddev") {
    check(!mean_.is_tensor() && !stddev_.is_tensor(), "[normalize] batch: mean and stddev must be numbers or left out");
  }

  void run(BatchContext& ctx) const override {
    const Batch& in = *ctx.inputs[0];
    auto out = make_ref<Batch>(ctx.pool, in.size());
    out->rows = in.rows;
    out->keep_alive = in.keep_alive;
    ctx.outputs[0] = out;
    Sample description;
    if (in.size() == 0) {
      description.dtype = in.dtype();
      normalization_.describe(description, description);
      out->set_type(description.dtype, in.ndim(), in.layout());
      return;
    }
    Arena arena(ctx.pool);
    const AxisSet reduced = normalization_.resolve_axes(in[0]);
    check_extents(in, reduced);
    const Parameters parameters = pool_samples(in, reduced, arena);
    for (int i = 0; i < in.size(); ++i) {
      normalization_.describe(in[i], description);
      description.data = out->claim(i, description);
      normalization_.apply(in[i], kept_shape(in[i].shape, reduced), parameters, description, arena);
    }
  }

 private:
  static void check_extents(const Batch& in, AxisSet reduced) {
    for (int i = 0; i < in.size(); ++i) {
      check(kept_shape(in[i].shape, reduced) == kept_shape(in[0].shape, reduced),
            "[normalize] batch: expected equal extents of the axes that are not reduced, got shapes {} and {}",
            in[0].shape, in[i].shape);
    }
  }

  Parameters pool_samples(const Batch& in, AxisSet reduced, Arena& arena) const {
    const int64_t count = kept_shape(in[0].shape, reduced).volume();
    int64_t elements = 0;
    for (int i = 0; i < in.size(); ++i) elements += reduced_volume(in[i].shape, reduced);
    const Parameters parameters = {arena.allocate_array<float>(static_cast<size_t>(count)),
                                   arena.allocate_array<float>(static_cast<size_t>(count))};
    if (mean_.given()) {
      std::fill(parameters.means.begin(), parameters.means.end(), mean_.constant());
    } else {
      normalization_.means_from_sums(reduce(in, reduced, Reduction::kRealSum, nullptr, count, arena), elements,
                                     parameters.means);
    }
    if (stddev_.given()) {
      const float deviation = stddev_.constant();
      normalization_.factors_from_deviations({&deviation, 1}, parameters.factors);
    } else {
      const double* squares = reduce(in, reduced, Reduction::kSquaredDeviations, parameters.means.data(), count, arena);
      normalization_.factors_from_squares(squares, elements, parameters.factors);
    }
    return parameters;
  }

  static const double* reduce(const Batch& in, AxisSet reduced, Reduction reduction, const float* means, int64_t count,
                              Arena& arena) {
    void* sums = make_accumulators(reduction, in.dtype(), count, arena);
    for (int i = 0; i < in.size(); ++i) accumulate(reduction, in[i], reduced, means, sums, arena);
    return static_cast<const double*>(sums);
  }

  const Normalization normalization_;
  const ParameterArg mean_;
  const ParameterArg stddev_;
};

std::unique_ptr<Operator> make_normalize(const OpSpec& spec) {
  if (spec.get_bool("batch")) return std::make_unique<NormalizeBatch>(spec);
  return std::make_unique<Normalize>(spec);
}

}  // namespace

void register_reduce_normalize(Registry& r) {
  Schema schema("normalize");
  schema
      .doc(
          "Gives (x - mean) * scale / stddev + shift. A mean or standard deviation that is not given is computed over "
          "the "
          "chosen axes; where a computed deviation is 0, the result is `shift`.")
      .input("data", {.doc = "Integers of up to 32 bits, or float."})
      .arg("batch", ArgType::kBool, false,
           "Compute one mean and deviation for the whole batch; axes that are not reduced must have equal extents in "
           "all "
           "samples.")
      .arg("mean", ArgType::kFloat, {},
           "The mean: a number, or a tensor of the input's shape with extent 1 for each reduced axis.",
           PerSample::kAllowed)
      .not_for_shapes()
      .arg("stddev", ArgType::kFloat, {}, "The standard deviation, likewise.", PerSample::kAllowed)
      .not_for_shapes()
      .arg("ddof", ArgType::kInt, 0,
           "Degrees of freedom taken from the number of elements when the deviation is computed.")
      .arg("epsilon", ArgType::kFloat, 0.0, "Added to the variance.")
      .arg("scale", ArgType::kFloat, 1.0, "The standard deviation of the result.")
      .arg("shift", ArgType::kFloat, 0.0, "The mean of the result.")
      .arg("dtype", ArgType::kDType, static_cast<int64_t>(DType::kFloat32),
           "Type of the result: float or an integer of up to 32 bits, rounded and clamped.");
  AxesArg::declare(schema, "The axes over which mean and deviation are computed");
  r.add(std::move(schema), make_normalize);
}

}  // namespace headrace
