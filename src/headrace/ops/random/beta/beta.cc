// random.beta: numbers with a beta distribution, as ratios of gamma-distributed ones.
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

// Logarithm of a gamma-distributed number: tiny shapes give numbers that no double holds, but their logarithms do.
// Source: G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000).
double log_gamma_draw(RandomStream& random, double shape) {
  double log_boost = 0;
  if (shape < 1) {
    log_boost = fixed_log(open_uniform(random)) / shape;
    shape += 1;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(random);
    const double root = 1 + c * x;
    const double u = open_uniform(random);
    if (root <= 0) continue;
    const double v = root * root * root;
    if (fixed_log(u) < 0.5 * x * x + d - d * v + d * fixed_log(v)) return fixed_log(d * v) + log_boost;
  }
}

double beta_draw(RandomStream random, double alpha, double beta) {
  const double log_a = log_gamma_draw(random, alpha);
  const double log_b = log_gamma_draw(random, beta);
  return 1 / (1 + fixed_exp(log_b - log_a));
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
