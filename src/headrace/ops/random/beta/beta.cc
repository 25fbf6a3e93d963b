// random.beta: numbers with a beta distribution.
#include <cmath>

#include "graph/registry.h"
#include "ops/random/random_output.h"

namespace headrace {
namespace {

using BetaTypes = TypeList<float, double>;

// Uniform in (0, 1), never an end, so that it has a logarithm.
double open_uniform(RandomStream& random) { return uniform_of(random.next_u64()) + 0x1p-53; }

double normal(RandomStream& random) {
  const uint64_t a = random.next_u64();
  return normal_pair_of(a, random.next_u64()).first;
}

// A gamma-distributed number; shape >= 1.
// Source: G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000).
double gamma_draw(RandomStream& random, double shape) {
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(random);
    const double root = 1 + c * x;
    const double u = open_uniform(random);
    if (root <= 0) continue;
    const double v = root * root * root;
    const double square = x * x;
    if (u < 1 - 0.0331 * square * square) return d * v;
    if (fixed_log(u) < 0.5 * square + d - d * v + d * fixed_log(v)) return d * v;
  }
}

// The ratio of gamma-distributed numbers. One of a shape below 1 is one of shape + 1 times u^(1 / shape); only the
// logarithm of that factor is sure to be a number.
double beta_by_gamma(RandomStream& random, double alpha, double beta) {
  const double log_a = alpha < 1 ? fixed_log(open_uniform(random)) / alpha : 0;
  const double log_b = beta < 1 ? fixed_log(open_uniform(random)) / beta : 0;
  const double a = gamma_draw(random, alpha < 1 ? alpha + 1 : alpha);
  const double b = gamma_draw(random, beta < 1 ? beta + 1 : beta);
  return 1 / (1 + b / a * fixed_exp(log_b - log_a));
}

// Fast where both shapes are at most 1. Source: M. D. Joehnk, "Erzeugung von betaverteilten und gammaverteilten
// Zufallszahlen", Metrika 8 (1964).
double beta_by_powers(RandomStream& random, double alpha, double beta) {
  while (true) {
    const double log_x = fixed_log(open_uniform(random)) / alpha;
    const double log_y = fixed_log(open_uniform(random)) / beta;
    const double x = fixed_exp(log_x);
    const double y = fixed_exp(log_y);
    if (x + y > 1) continue;
    return x + y > 0 ? x / (x + y) : 1 / (1 + fixed_exp(log_y - log_x));
  }
}

double beta_draw(RandomStream random, double alpha, double beta) {
  return alpha <= 1 && beta <= 1 ? beta_by_powers(random, alpha, beta) : beta_by_gamma(random, alpha, beta);
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
    check(alpha > 0 && std::isfinite(alpha), "{} alpha: expected a positive finite number, got {}", about_, alpha);
    check(beta > 0 && std::isfinite(beta), "{} beta: expected a positive finite number, got {}", about_, beta);
    const ElementStreams streams(ctx.random(seed_));
    visit_dtype(out.dtype, BetaTypes(), about_, [&]<typename T>() {
      for (int64_t e = 0; e < out.volume(); ++e) out.as<T>()[e] = static_cast<T>(beta_draw(streams(e), alpha, beta));
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
