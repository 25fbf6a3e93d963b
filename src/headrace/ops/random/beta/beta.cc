// random.beta: numbers with a beta distribution.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "graph/registry.h"
#include "ops/random/random_output.h"

namespace headrace {
namespace {

using BetaTypes = TypeList<float, double>;

// No product of two shapes overflows.
constexpr double kMaxShape = std::numeric_limits<float>::max();

// Uniform in (0, 1), never an end, so that it has a logarithm.
double open_uniform(RandomStream& random) { return uniform_of(random.next_u64()) + 0x1p-53; }

// A method makes a proposal of two uniform numbers, accepts it or not, and turns one that it accepts into a number.

// Both shapes are 1.
struct Uniform {
  double propose(double u1, double) const { return u1; }
  bool accepts(double) const { return true; }
  double value(double u1) const { return u1; }
};

// One of the shapes is 1: the distribution function is x^shape, or that of 1 - x.
struct Power {
  double shape;
  bool is_mirrored;
  double propose(double u1, double) const { return fixed_exp(fixed_log(u1) / shape); }
  bool accepts(double) const { return true; }
  double value(double x) const { return is_mirrored ? 1 - x : x; }
};

// Fast where both shapes are at most 1. Source: M. D. Joehnk, "Erzeugung von betaverteilten und gammaverteilten
// Zufallszahlen", Metrika 8 (1964).
struct Powers {
  struct Proposal {
    double log_x, log_y, x, y;
  };
  double alpha, beta;

  Proposal propose(double u1, double u2) const {
    const double log_x = fixed_log(u1) / alpha, log_y = fixed_log(u2) / beta;
    return {log_x, log_y, fixed_exp(log_x), fixed_exp(log_y)};
  }
  bool accepts(const Proposal& p) const { return p.x + p.y <= 1; }
  double value(const Proposal& p) const {
    return p.x + p.y > 0 ? p.x / (p.x + p.y) : 1 / (1 + fixed_exp(p.log_y - p.log_x));
  }
};

// Log-logistic proposals, for shapes that are not both at most 1. Source: R. C. H. Cheng, "Generating beta variates
// with nonintegral shape parameters", Communications of the ACM 21 (1978), algorithms BB and BC.
class LogLogistic {
 public:
  struct Proposal {
    double u1, u2, v, w;
  };

  LogLogistic(double alpha, double beta) : sum_(alpha + beta) {
    const double low = std::min(alpha, beta), high = std::max(alpha, beta);
    both_above_1_ = low > 1;
    // The algorithms call their first shape a: the smaller one where both are above 1, else the larger one.
    a_ = both_above_1_ ? low : high;
    b_ = both_above_1_ ? high : low;
    is_swapped_ = a_ != alpha;
    if (both_above_1_) {
      power_ = std::sqrt((sum_ - 2) / (2 * a_ * b_ - sum_));
      gamma_ = a_ + 1 / power_;
    } else {
      const double delta = 1 + a_ - b_;
      power_ = 1 / b_;
      k1_ = delta * (1.0 / 72 + b_ / 24) / (a_ * power_ - 7.0 / 9);
      k2_ = 0.25 + (0.5 + 0.25 / delta) * b_;
    }
  }

  Proposal propose(double u1, double u2) const {
    const double v = power_ * fixed_log(u1 / (1 - u1));
    return {u1, u2, v, std::min(a_ * fixed_exp(v), std::numeric_limits<double>::max())};
  }
  bool accepts(const Proposal& p) const { return both_above_1_ ? accepts_above_1(p) : accepts_mixed(p); }
  double value(const Proposal& p) const { return (is_swapped_ ? b_ : p.w) / (b_ + p.w); }

 private:
  static constexpr double kLog4 = 1.3862943611198906, kOneAndLog5 = 2.6094379124341003;

  bool accepts_above_1(const Proposal& p) const {
    const double z = p.u1 * p.u1 * p.u2;
    const double r = gamma_ * p.v - kLog4;
    const double s = a_ + r - p.w;
    if (s + kOneAndLog5 >= 5 * z) return true;
    const double t = fixed_log(z);
    return s >= t || r + sum_ * fixed_log(sum_ / (b_ + p.w)) >= t;
  }

  bool accepts_mixed(const Proposal& p) const {
    const double y = p.u1 * p.u2;
    const double z = p.u1 * y;
    if (p.u1 < 0.5) {
      if (0.25 * p.u2 + z - y >= k1_) return false;
    } else {
      if (z <= 0.25) return true;
      if (z >= k2_) return false;
    }
    return sum_ * (fixed_log(sum_ / (b_ + p.w)) + p.v) - kLog4 >= fixed_log(z);
  }

  double sum_, a_, b_;
  bool both_above_1_;
  bool is_swapped_;  // w belongs to beta
  double power_, gamma_ = 0, k1_ = 0, k2_ = 0;
};

// Numbers of the method, from a stream of its own for each. Proposals for a chunk of numbers don't depend on each
// other, so that the processor computes several at a time; those that aren't accepted are made anew together.
template <typename Method, typename T>
void fill_with(const Method& method, const ElementStreams& streams, std::span<T> out) {
  constexpr size_t kChunk = 32;
  using Proposal = decltype(method.propose(0, 0));
  std::array<std::optional<RandomStream>, kChunk> random;
  std::array<size_t, kChunk> open;  // numbers that have no accepted proposal
  std::array<double, kChunk> u1, u2;
  std::array<Proposal, kChunk> proposals;
  for (size_t begin = 0; begin < out.size(); begin += kChunk) {
    size_t n = std::min(kChunk, out.size() - begin);
    for (size_t i = 0; i < n; ++i) {
      random[i] = streams(static_cast<int64_t>(begin + i));
      open[i] = i;
    }
    while (n > 0) {
      for (size_t i = 0; i < n; ++i) {
        u1[i] = open_uniform(*random[open[i]]);
        u2[i] = open_uniform(*random[open[i]]);
      }
      for (size_t i = 0; i < n; ++i) proposals[i] = method.propose(u1[i], u2[i]);
      size_t left = 0;
      for (size_t i = 0; i < n; ++i) {
        const bool accepted = method.accepts(proposals[i]);
        if (accepted) out[begin + open[i]] = static_cast<T>(method.value(proposals[i]));
        open[left] = open[i];
        left += !accepted;
      }
      n = left;
    }
  }
}

// With the fastest method for the shapes.
template <typename T> void fill_beta(double alpha, double beta, const ElementStreams& streams, std::span<T> out) {
  if (alpha == 1 && beta == 1) return fill_with(Uniform(), streams, out);
  if (beta == 1) return fill_with(Power{alpha, false}, streams, out);
  if (alpha == 1) return fill_with(Power{beta, true}, streams, out);
  if (alpha <= 1 && beta <= 1) return fill_with(Powers{alpha, beta}, streams, out);
  fill_with(LogLogistic(alpha, beta), streams, out);
}

class Beta : public SampleOperator {
 public:
  explicit Beta(const OpSpec& spec)
      : seed_(spec.seed),
        output_(spec, 0, DType::kFloat32),
        alpha_(spec, "alpha"),
        beta_(spec, "beta"),
        about_(fmt::format("[{}]", spec.schema->name())) {
    visit_dtype(output_.dtype(), BetaTypes(), spec.about("dtype"), []<typename T>() {});
  }

  void infer(SampleContext& ctx) const override { output_.describe(ctx); }

  void run(SampleContext& ctx) const override {
    const Sample& out = ctx.output(0);
    const double alpha = alpha_(ctx), beta = beta_(ctx);
    check(alpha > 0 && alpha <= kMaxShape, "{} alpha: expected a positive number up to {:g}, got {}", about_, kMaxShape,
          alpha);
    check(beta > 0 && beta <= kMaxShape, "{} beta: expected a positive number up to {:g}, got {}", about_, kMaxShape,
          beta);
    const ElementStreams streams(ctx.random(seed_));
    visit_dtype(out.dtype, BetaTypes(), about_, [&]<typename T>() {
      fill_beta(alpha, beta, streams, std::span(out.as<T>(), static_cast<size_t>(out.volume())));
    });
  }

 private:
  const uint64_t seed_;
  const RandomOutput output_;
  const Arg<double> alpha_;
  const Arg<double> beta_;
  const std::string about_;
};

}  // namespace

void register_random_beta(Registry& r) {
  Schema s("random.beta");
  s.doc("Random numbers in [0, 1] with a beta distribution, as mixup uses them.").random();
  random_output_args(s, "Type of the output: float (default) or double.");
  r.add<Beta>(s.arg("alpha", ArgType::kFloat, 1.0, "First shape parameter, above 0.", PerSample::kAllowed)
                  .not_for_shapes()
                  .arg("beta", ArgType::kFloat, 1.0, "Second shape parameter, above 0.", PerSample::kAllowed)
                  .not_for_shapes()
                  .devices({"cpu"}));
}

}  // namespace headrace
