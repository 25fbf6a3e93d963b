// noise.gaussian: adds a normally distributed number to each value.
#include "graph/registry.h"
#include "ops/random/random_output.h"

namespace headrace {
namespace {

template <typename T>
void add_noise(const RandomStream& random, double mean, double stddev, const T* in, T* out, int64_t count) {
  using Real = DrawType<T>;
  const Real center = static_cast<Real>(mean);
  const Real scale = static_cast<Real>(stddev);
  for_normal<Real>(random, count, [&](int64_t e, const Real* draws, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[e + i] = convert<T>(static_cast<Real>(in[e + i]) + (center + scale * draws[i]));
  });
}

class GaussianNoise : public SampleOperator {
 public:
  explicit GaussianNoise(const OpSpec& spec)
      : seed_(spec.seed),
        mean_(spec, "mean"),
        stddev_(spec, "stddev"),
        about_(fmt::format("[{}] input", spec.schema->name())) {}

  void infer(SampleContext& ctx) const override {
    ctx.output(0).describe_as(ctx.input(0));
    visit_dtype(ctx.input(0).dtype, NoiseTypes(), about_, []<typename T>() {});
  }

  void run(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    visit_dtype(in.dtype, NoiseTypes(), about_, [&]<typename T>() {
      add_noise(ctx.random(seed_), mean_(ctx), stddev_(ctx), in.as<T>(), ctx.output(0).as<T>(), in.volume());
    });
  }

 private:
  const uint64_t seed_;
  const Arg<double> mean_;
  const Arg<double> stddev_;
  const std::string about_;
};

}  // namespace

void register_random_noise_gaussian(Registry& r) {
  r.add<GaussianNoise>(Schema("noise.gaussian")
                           .doc("Adds a normally distributed number to each value; integers are rounded and clamped.")
                           .random()
                           .input("data", {.doc = "Integers or float."})
                           .arg("mean", ArgType::kFloat, 0.0, "Mean of the noise.", PerSample::kAllowed)
                           .not_for_shapes()
                           .arg("stddev", ArgType::kFloat, 1.0, "Standard deviation of the noise.", PerSample::kAllowed)
                           .not_for_shapes());
}

}  // namespace headrace
