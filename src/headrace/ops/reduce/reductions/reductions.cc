// reductions.*: sum, mean, mean_square, rms, min, max, std_dev and variance over axes.
#include <cmath>
#include <limits>

#include "core/convert.h"
#include "graph/registry.h"
#include "ops/reduce/accumulate.h"

namespace headrace {
namespace {

enum class Statistic { kSum, kMean, kMeanSquare, kRms, kMin, kMax, kStdDev, kVariance };

constexpr Reduction reduction_of(Statistic statistic) {
  switch (statistic) {
    case Statistic::kSum: return Reduction::kSum;
    case Statistic::kMean: return Reduction::kRealSum;
    case Statistic::kMeanSquare:
    case Statistic::kRms: return Reduction::kSquares;
    case Statistic::kMin: return Reduction::kMin;
    case Statistic::kMax: return Reduction::kMax;
    case Statistic::kStdDev:
    case Statistic::kVariance: break;
  }
  return Reduction::kSquaredDeviations;
}

constexpr bool is_extreme(Statistic statistic) { return statistic == Statistic::kMin || statistic == Statistic::kMax; }

// Shapes, layouts and types of a reduction; what comes of the accumulators is left to finish().
template <Statistic kStatistic> class Reduce : public SampleOperator {
 public:
  explicit Reduce(const OpSpec& spec)
      : name_(spec.schema->name()), axes_(spec), keep_dims_(spec.get_bool("keep_dims")) {
    if (spec.has("dtype")) dtype_ = spec.get_dtype("dtype");
    if (kHasMean) ddof_ = spec.get_int("ddof");
  }

  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    visit_dtype(in.dtype, ReducibleTypes(), name_ + ": input", []<typename T>() {});
    Plan& plan = ctx.make_plan<Plan>();
    plan.reduced = axes_.resolve(in.shape.ndim(), in.layout, ErrorKind::kIndex);
    Sample& out = ctx.output(0);
    out.describe_as(in);
    out.dtype = output_type(in.dtype);
    if (keep_dims_)
      out.shape = kept_shape(in.shape, plan.reduced);
    else
      drop_axes(out, plan.reduced);
  }

  void run(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    const Sample& out = ctx.output(0);
    const int64_t count = out.volume();
    if (count == 0) return;
    const AxisSet reduced = ctx.plan<Plan>().reduced;
    constexpr Reduction kReduction = reduction_of(kStatistic);
    void* accumulators = make_accumulators(kReduction, in.dtype, count, ctx.arena());
    const float* means = kHasMean ? read_means(ctx, count) : nullptr;
    accumulate(kReduction, in, reduced, means, accumulators, ctx.arena());
    finish(accumulators, count, reduced_volume(in.shape, reduced), in.dtype);
    convert_array(accumulators, accumulator_type(kReduction, in.dtype), out.data, out.dtype, count);
  }

 private:
  static constexpr bool kHasMean = kStatistic == Statistic::kStdDev || kStatistic == Statistic::kVariance;
  struct Plan {
    AxisSet reduced;
  };

  // Sums stay integers, in 64 bits; extremes have the type of the input; the rest is float.
  DType output_type(DType input) const {
    const DType wide = is_floating(input) ? input : is_signed(input) ? DType::kInt64 : DType::kUInt64;
    const DType standard = is_extreme(kStatistic) ? input : kStatistic == Statistic::kSum ? wide : DType::kFloat32;
    if (dtype_ == DType::kNone) return standard;
    check(dtype_ == standard || dtype_ == input || dtype_ == wide || dtype_ == DType::kFloat32,
          "[{}] dtype: expected {}, {} or {} for an input of type {}, got {}; cast the result", name_,
          dtype_name(input), dtype_name(wide), dtype_name(DType::kFloat32), dtype_name(input), dtype_name(dtype_));
    return dtype_;
  }

  void drop_axes(Sample& out, AxisSet reduced) const {
    const bool has_layout = out.layout.ndim() == out.shape.ndim();
    for (int axis = out.shape.ndim() - 1; axis >= 0; --axis) {
      if (!(reduced >> axis & 1)) continue;
      out.shape.erase(axis);
      if (has_layout) out.layout.erase(axis);
    }
  }

  // One mean for each result, from one for all or one for each.
  const float* read_means(SampleContext& ctx, int64_t count) const {
    const Sample& mean = ctx.input(1);
    const int64_t given = mean.volume();
    check(given == 1 || given == count, "[{}] mean: expected one value or {}, one for each result; got shape {}", name_,
          count, mean.shape);
    float* means = ctx.arena().allocate_array<float>(static_cast<size_t>(count)).data();
    convert_array(mean.data, mean.dtype, means, DType::kFloat32, given);
    if (given == 1) std::fill_n(means, count, means[0]);
    return means;
  }

  // Accumulators become results, in place. Of no elements the sum is 0, the mean NaN, extremes the finite far end.
  void finish(void* accumulators, int64_t count, int64_t reduced, DType input) const {
    if constexpr (is_extreme(kStatistic)) {
      if (reduced > 0 || input != DType::kFloat32) return;
      constexpr float kFar = std::numeric_limits<float>::max();
      std::fill_n(static_cast<float*>(accumulators), count, kStatistic == Statistic::kMin ? kFar : -kFar);
    } else if constexpr (kStatistic != Statistic::kSum) {
      const double divisor = static_cast<double>(reduced - ddof_);
      double* values = static_cast<double*>(accumulators);
      constexpr bool kRoot = kStatistic == Statistic::kRms || kStatistic == Statistic::kStdDev;
      for (int64_t i = 0; i < count; ++i) values[i] = kRoot ? std::sqrt(values[i] / divisor) : values[i] / divisor;
    }
  }

  const std::string name_;
  const AxesArg axes_;
  const bool keep_dims_;
  DType dtype_ = DType::kNone;
  int64_t ddof_ = 0;
};

Schema reduction(std::string name, std::string what) {
  Schema schema("reductions." + name);
  schema.doc("Gives " + what + " over the chosen axes.")
      .input("data", {.doc = "Integers or float."})
      .arg("keep_dims", ArgType::kBool, false, "Keep the reduced axes, with extent 1.");
  AxesArg::declare(schema, "The axes to reduce");
  return schema;
}

Schema reduction_with_dtype(std::string name, std::string what, std::string standard) {
  Schema schema = reduction(std::move(name), std::move(what));
  schema.arg("dtype", ArgType::kDType, {},
             "Type of the result: that of the input, a 64-bit integer of its kind, or float; integers are rounded and "
             "clamped. Default: " +
                 standard + ".");
  return schema;
}

Schema deviation(std::string name, std::string what) {
  Schema schema = reduction(std::move(name), std::move(what));
  schema.input("mean", {.doc = "The mean to deviate from: one value, or one for each result."})
      .arg("ddof", ArgType::kInt, 0, "Degrees of freedom taken from the number of elements to give the divisor.");
  return schema;
}

}  // namespace

void register_reduce_reductions(Registry& r) {
  const std::string wide = "uint64 or int64 for integers, float for float";
  r.add<Reduce<Statistic::kSum>>(reduction_with_dtype("sum", "the sum of the elements", wide));
  r.add<Reduce<Statistic::kMean>>(reduction_with_dtype("mean", "the mean of the elements", "float"));
  r.add<Reduce<Statistic::kMeanSquare>>(
      reduction_with_dtype("mean_square", "the mean of the squares of the elements", "float"));
  r.add<Reduce<Statistic::kRms>>(
      reduction_with_dtype("rms", "the square root of the mean of the squares of the elements", "float"));
  r.add<Reduce<Statistic::kMin>>(reduction("min", "the smallest element"));
  r.add<Reduce<Statistic::kMax>>(reduction("max", "the largest element"));
  r.add<Reduce<Statistic::kStdDev>>(deviation("std_dev", "the standard deviation of the elements from a given mean"));
  r.add<Reduce<Statistic::kVariance>>(deviation("variance", "the variance of the elements around a given mean"));
}

}  // namespace headrace
