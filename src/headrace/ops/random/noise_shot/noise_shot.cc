// noise.shot: replaces each value by the count of photons that a sensor might see: Poisson(x / factor) * factor.
#include <array>
#include <cmath>

#include "graph/registry.h"
#include "ops/random/random_output.h"

namespace headrace {
namespace {

// log(k!) by Stirling's series; small k by a product. Relative error below 1e-9.
double log_factorial(double k) {
  if (k < 10) {
    double product = 1;
    for (double i = 2; i <= k; ++i) product *= i;
    return fixed_log(product);
  }
  const double inverse = 1 / k;
  const double square = inverse * inverse;
  const double series = inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260)));
  return (k + 0.5) * fixed_log(k) - k + 0.918938533204672742 + series;
}

constexpr double kInversionBelow = 16;
constexpr int kMaxCount = 128;  // beyond it lies less than 2^-53 of any distribution that is inverted

constexpr std::array<double, kMaxCount> make_inverses() {
  std::array<double, kMaxCount> inverses{};
  for (int k = 1; k < kMaxCount; ++k) inverses[k] = 1.0 / k;
  return inverses;
}
constexpr std::array<double, kMaxCount> kInverses = make_inverses();

// A Poisson-distributed count by walking along the distribution function until it exceeds u.
double poisson_by_inversion(double mean, double u) {
  double p = fixed_exp(-mean);
  int k = 0;
  while (u >= p && k + 1 < kMaxCount) {
    u -= p;
    ++k;
    p *= mean * kInverses[k];
  }
  return k;
}

// Source: W. Hoermann, "The transformed rejection method for generating Poisson random variables", Insurance:
// Mathematics and Economics 12 (1993), algorithm PTRS. mean >= 10.
double poisson_by_rejection(double mean, RandomStream random) {
  const double b = 0.931 + 2.53 * std::sqrt(mean);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double v_r = 0.9277 - 3.6224 / (b - 2);
  const double log_mean = fixed_log(mean);
  while (true) {
    const double u = uniform_of(random.next_u64()) - 0.5;
    const double v = uniform_of(random.next_u64()) + 0x1p-53;
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (!(k >= 0) || (us < 0.013 && v > us)) continue;
    const double log_ratio = fixed_log(v * inverse_alpha / (a / (us * us) + b));
    if (log_ratio <= k * log_mean - mean - log_factorial(k)) return k;
  }
}

template <typename T> void add_noise(RandomStream random, double factor, const T* in, T* out, int64_t count) {
  // Above this mean a count's deviation is below what a double resolves in pictures: the value stays.
  constexpr double kTooLarge = 1e15;
  const ElementStreams streams(random);
  for_uniform<double>(random, count, [&](int64_t e, const double* u, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const double mean = static_cast<double>(in[e + i]) / factor;
      double photons = 0;
      if (mean > 0 && mean < kInversionBelow) {
        photons = poisson_by_inversion(mean, u[i]);
      } else if (mean > 0) {
        photons = mean < kTooLarge ? poisson_by_rejection(mean, streams(e + i)) : mean;
      }
      out[e + i] = convert<T>(photons * factor);
    }
  });
}

class ShotNoise : public SampleOperator {
 public:
  explicit ShotNoise(const OpSpec& spec)
      : seed_(spec.seed), factor_(spec, "factor"), about_(fmt::format("[{}] input", spec.schema->name())) {}

  void infer(SampleContext& ctx) const override {
    ctx.output(0).describe_as(ctx.input(0));
    visit_dtype(ctx.input(0).dtype, NoiseTypes(), about_, []<typename T>() {});
  }

  void run(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    const double factor = factor_(ctx);
    visit_dtype(in.dtype, NoiseTypes(), about_, [&]<typename T>() {
      T* out = ctx.output(0).as<T>();
      if (factor > 0) {
        add_noise(ctx.random(seed_), factor, in.as<T>(), out, in.volume());
      } else {
        std::fill(out, out + in.volume(), T(0));
      }
    });
  }

 private:
  const uint64_t seed_;
  const Arg<double> factor_;
  const std::string about_;
};

}  // namespace

void register_random_noise_shot(Registry& r) {
  r.add<ShotNoise>(
      Schema("noise.shot")
          .doc("Shot noise: each value x becomes factor * Poisson(x / factor), so that brighter pixels have "
               "more noise. Values below 0 become 0; integers are rounded and clamped.")
          .random()
          .input("data", {.doc = "Integers or float."})
          .arg("factor", ArgType::kFloat, 20.0,
               "Value of one photon: the larger, the more noise. 0 or less: the output is 0.", PerSample::kAllowed)
          .not_for_shapes());
}

}  // namespace headrace
