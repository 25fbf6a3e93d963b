// random.coin_flip, coin_flip: ones with a probability, else zeros.
#include "graph/registry.h"
#include "ops/random/random_output.h"

namespace headrace {
namespace {

using CoinTypes = TypeList<bool, uint8_t, int32_t>;

class CoinFlip : public SampleOperator {
 public:
  explicit CoinFlip(const OpSpec& spec)
      : seed_(spec.seed),
        output_(spec, 0, DType::kInt32),
        probability_(spec, "probability"),
        about_(spec.about("dtype")) {
    visit_dtype(output_.dtype(), CoinTypes(), about_, []<typename T>() {});
  }

  void infer(SampleContext& ctx) const override { output_.describe(ctx); }

  void run(SampleContext& ctx) const override {
    const Sample& out = ctx.output(0);
    // Words below 2^32 * probability are ones, which is exact for 0 and 1.
    const uint64_t ones = truncate_to_integer<uint64_t>(std::min(probability_(ctx), 1.0) * 0x1p32);
    visit_dtype(out.dtype, CoinTypes(), about_, [&]<typename T>() {
      T* coins = out.as<T>();
      for_draws<uint32_t>(ctx.random(seed_), out.volume(), fill_words,
                          [&](int64_t e, const uint32_t* words, int64_t n) {
                            for (int64_t i = 0; i < n; ++i) coins[e + i] = static_cast<T>(words[i] < ones);
                          });
    });
  }

 private:
  const uint64_t seed_;
  const RandomOutput output_;
  const Arg<double> probability_;
  const std::string about_;
};

Schema schema(const char* name) {
  Schema s(name);
  s.doc("Flips coins: 1 with the given probability, else 0.").random();
  random_output_args(s, "Type of the output: int32 (default), uint8 or bool.");
  return s
      .arg("probability", ArgType::kFloat, 0.5, "Probability of a 1. Below 0 counts as 0, above 1 as 1.",
           PerSample::kAllowed)
      .not_for_shapes();
}

}  // namespace

void register_random_coin_flip(Registry& r) {
  r.add<CoinFlip>(schema("random.coin_flip"));
  r.add<CoinFlip>(schema("coin_flip").deprecated("Use random.coin_flip."));
}

}  // namespace headrace
