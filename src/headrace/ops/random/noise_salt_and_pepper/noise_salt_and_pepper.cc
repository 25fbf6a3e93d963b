// noise.salt_and_pepper: replaces random pixels by one of two extreme values.
#include <limits>

#include "graph/registry.h"
#include "ops/random/random_output.h"

namespace headrace {
namespace {

// A tensor as [outer][channels][inner]: the values that share outer and inner index are a pixel.
struct Pixels {
  int64_t outer = 1;
  int64_t channels = 1;
  int64_t inner = 1;
};

// Axis C of the layout; without a layout the last axis; a layout without C: each value is a pixel.
Pixels pixels_of(const Sample& sample) {
  const int ndim = sample.shape.ndim();
  const int channel = sample.layout.empty() ? ndim - 1 : sample.layout.find('C');
  Pixels p;
  for (int axis = 0; axis < ndim; ++axis) {
    int64_t& extent = axis == channel ? p.channels : axis < channel || channel < 0 ? p.outer : p.inner;
    extent *= sample.shape[axis];
  }
  return p;
}

// Words below `salt` make salt, others below `noise` pepper.
template <typename T> struct Rule {
  uint64_t salt_below;
  uint64_t noise_below;
  T salt;
  T pepper;

  T operator()(uint32_t word, T value) const {
    return word < noise_below ? (word < salt_below ? salt : pepper) : value;
  }
};

template <typename T>
void scatter(const RandomStream& random, const Rule<T>& rule, const Pixels& pixels, const T* in, T* out) {
  const int64_t outer = pixels.outer, channels = pixels.channels, inner = pixels.inner;
  for_draws<uint32_t>(random, outer * inner, fill_words, [&](int64_t first, const uint32_t* words, int64_t n) {
    int64_t at = first / inner * channels * inner + first % inner;  // of the pixel's first channel
    int64_t left = inner - first % inner;                           // pixels to the end of the row of `inner`
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t c = 0; c < channels; ++c) out[at + c * inner] = rule(words[i], in[at + c * inner]);
      ++at;
      if (--left == 0) {
        left = inner;
        at += (channels - 1) * inner;
      }
    }
  });
}

class SaltAndPepper : public SampleOperator {
 public:
  explicit SaltAndPepper(const OpSpec& spec)
      : seed_(spec.seed),
        per_channel_(spec.get_bool("per_channel")),
        prob_(spec, "prob"),
        salt_vs_pepper_(spec, "salt_vs_pepper"),
        salt_(spec, "salt_val"),
        pepper_(spec, "pepper_val"),
        about_(fmt::format("[{}]", spec.schema->name())) {}

  void infer(SampleContext& ctx) const override {
    ctx.output(0).describe_as(ctx.input(0));
    visit_dtype(ctx.input(0).dtype, NoiseTypes(), about_, []<typename T>() {});
  }

  void run(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    if (in.volume() == 0) return;
    const Pixels pixels = per_channel_ ? Pixels{in.volume(), 1, 1} : pixels_of(in);
    visit_dtype(in.dtype, NoiseTypes(), about_, [&]<typename T>() {
      scatter(ctx.random(seed_), rule<T>(ctx), pixels, in.as<T>(), ctx.output(0).as<T>());
    });
  }

 private:
  template <typename T> Rule<T> rule(const SampleContext& ctx) const {
    using Limits = std::numeric_limits<T>;
    const double prob = prob_(ctx), salt_vs_pepper = salt_vs_pepper_(ctx);
    check(prob >= 0 && prob <= 1, "{} prob: expected a probability from 0 to 1, got {}", about_, prob);
    check(salt_vs_pepper >= 0 && salt_vs_pepper <= 1, "{} salt_vs_pepper: expected a probability from 0 to 1, got {}",
          about_, salt_vs_pepper);
    Rule<T> rule;
    rule.noise_below = static_cast<uint64_t>(prob * 0x1p32);
    rule.salt_below = static_cast<uint64_t>(prob * salt_vs_pepper * 0x1p32);
    rule.salt = salt_.given() ? convert<T>(salt_(ctx)) : std::is_integral_v<T> ? Limits::max() : T(1);
    rule.pepper = pepper_.given() ? convert<T>(pepper_(ctx)) : std::is_integral_v<T> ? Limits::min() : T(-1);
    return rule;
  }

  const uint64_t seed_;
  const bool per_channel_;
  const Arg<double> prob_;
  const Arg<double> salt_vs_pepper_;
  const Arg<double> salt_;
  const Arg<double> pepper_;
  const std::string about_;
};

}  // namespace

void register_random_noise_salt_and_pepper(Registry& r) {
  r.add<SaltAndPepper>(
      Schema("noise.salt_and_pepper")
          .doc("Replaces random pixels by a high or a low value. A pixel is what lies along axis C of the layout, or "
               "along "
               "the last axis of a tensor without layout; with a layout without C, each value.")
          .random()
          .input("data", {.doc = "Integers or float."})
          .arg("prob", ArgType::kFloat, 0.05, "Probability that a pixel is replaced.", PerSample::kAllowed)
          .not_for_shapes()
          .arg("salt_vs_pepper", ArgType::kFloat, 0.5, "Probability that a replaced pixel is salt.",
               PerSample::kAllowed)
          .not_for_shapes()
          .arg("salt_val", ArgType::kFloat, {}, "Salt; by default the type's largest value, 1 for floats.",
               PerSample::kAllowed)
          .not_for_shapes()
          .arg("pepper_val", ArgType::kFloat, {}, "Pepper; by default the type's smallest value, -1 for floats.",
               PerSample::kAllowed)
          .not_for_shapes()
          .arg("per_channel", ArgType::kBool, false, "Decide for each value instead of each pixel."));
}

}  // namespace headrace
