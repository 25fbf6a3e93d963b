// random.normal, normal_distribution: numbers with a normal distribution.
#include "graph/registry.h"
#include "ops/random/random_output.h"

namespace headrace {
namespace {

template <typename T> void fill(const RandomStream& random, double mean, double stddev, T* out, int64_t count) {
  using Real = DrawType<T>;
  const Real center = static_cast<Real>(mean);
  const Real scale = static_cast<Real>(stddev);
  for_normal<Real>(random, count, [&](int64_t e, const Real* draws, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[e + i] = convert<T>(center + scale * draws[i]);
  });
}

class Normal : public SampleOperator {
 public:
  explicit Normal(const OpSpec& spec)
      : seed_(spec.seed),
        output_(spec, 0, DType::kFloat32),
        mean_(spec, "mean"),
        stddev_(spec, "stddev"),
        about_(spec.about("dtype")) {
    visit_dtype(output_.dtype(), RandomTypes(), about_, []<typename T>() {});
  }

  void infer(SampleContext& ctx) const override { output_.describe(ctx); }

  void run(SampleContext& ctx) const override {
    const Sample& out = ctx.output(0);
    visit_dtype(out.dtype, RandomTypes(), about_,
                [&]<typename T>() { fill(ctx.random(seed_), mean_(ctx), stddev_(ctx), out.as<T>(), out.volume()); });
  }

 private:
  const uint64_t seed_;
  const RandomOutput output_;
  const Arg<double> mean_;
  const Arg<double> stddev_;
  const std::string about_;
};

Schema schema(const char* name) {
  Schema s(name);
  s.doc("Random numbers with a normal distribution.").random();
  random_output_args(
      s,
      "Type of the output, float by default; integers are rounded and clamped; bool and 16-bit floats are "
      "not possible.");
  return s.arg("mean", ArgType::kFloat, 0.0, "Mean of the distribution.", PerSample::kAllowed)
      .not_for_shapes()
      .arg("stddev", ArgType::kFloat, 1.0, "Standard deviation; a negative one mirrors.", PerSample::kAllowed)
      .not_for_shapes();
}

}  // namespace

void register_random_normal(Registry& r) {
  r.add<Normal>(schema("random.normal"));
  r.add<Normal>(schema("normal_distribution").deprecated("Use random.normal."));
}

}  // namespace headrace
