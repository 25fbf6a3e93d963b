// random.uniform, uniform: numbers uniform in a range, or picked from a list.
#include <cmath>

#include "graph/registry.h"
#include "ops/random/random_output.h"

namespace headrace {
namespace {

// Numbers in [low, high). For integers the real number is rounded, so that both ends occur, with half the weight of the
// numbers between them.
template <typename T> void fill_range(const RandomStream& random, double low, double high, T* out, int64_t count) {
  using Real = DrawType<T>;
  const Real base = static_cast<Real>(low);
  const Real end = static_cast<Real>(high);
  const Real width = end - base;
  // base + u * width may be rounded up to the end.
  const Real last = std::is_integral_v<T> ? end : std::nextafter(end, base);
  for_uniform<Real>(random, count, [&](int64_t e, const Real* u, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const Real x = base + u[i] * width;
      out[e + i] = convert<T>(x < last ? x : last);
    }
  });
}

template <typename T>
void fill_values(const RandomStream& random, std::span<const float> values, T* out, int64_t count) {
  for_draws<uint32_t>(random, count, fill_words, [&](int64_t e, const uint32_t* words, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[e + i] = convert<T>(values[(uint64_t{words[i]} * values.size()) >> 32]);
  });
}

class Uniform : public SampleOperator {
 public:
  explicit Uniform(const OpSpec& spec)
      : seed_(spec.seed),
        output_(spec, 0, DType::kFloat32),
        range_(spec, "range"),
        values_(spec, "values"),
        about_range_(spec.about("range")),
        about_values_(spec.about("values")) {
    visit_dtype(output_.dtype(), RandomTypes(), spec.about("dtype"), []<typename T>() {});
    if (spec.has_constant("range")) {
      const std::vector<double>& range = spec.get_floats("range");
      check_range(range);
    }
    if (spec.has_constant("values")) check_values(spec.get_floats("values").size());
  }

  void infer(SampleContext& ctx) const override { output_.describe(ctx); }

  void run(SampleContext& ctx) const override {
    const Sample& out = ctx.output(0);
    const RandomStream random = ctx.random(seed_);
    visit_dtype(out.dtype, RandomTypes(), about_range_, [&]<typename T>() {
      if (values_.given()) {
        const std::span<const float> values = values_(ctx);
        check_values(values.size());
        fill_values(random, values, out.as<T>(), out.volume());
      } else {
        const std::span<const double> range = range_(ctx);
        check_range(range);
        fill_range(random, range[0], range[1], out.as<T>(), out.volume());
      }
    });
  }

 private:
  void check_range(std::span<const double> range) const {
    check(range.size() == 2, "{}: expected two numbers, begin and end, got {}", about_range_, range.size());
    check(range[1] > range[0] && std::isfinite(range[1] - range[0]),
          "{}: expected a finite begin below a finite end, got [{}, {})", about_range_, range[0], range[1]);
  }
  void check_values(size_t count) const {
    check(count > 0, "{}: expected at least one value, got none", about_values_);
  }

  const uint64_t seed_;
  const RandomOutput output_;
  const ArgList<double> range_;
  const ArgList<float> values_;
  const std::string about_range_;
  const std::string about_values_;
};

Schema schema(const char* name) {
  Schema s(name);
  s.doc(
       "Random numbers, uniform in a half-open range, or picked from a list of values with equal probability. With an "
       "integer type the real number is rounded to the nearest integer, so that both ends of the range occur, with "
       "half the weight of the numbers between them.")
      .random();
  random_output_args(s, "Type of the output, float by default; bool and 16-bit floats are not possible.");
  return s
      .arg("range", ArgType::kFloatList, std::vector<double>{-1, 1}, "Begin and end, the end excluded.",
           PerSample::kAllowed)
      .not_for_shapes()
      .arg("values", ArgType::kFloatList, {}, "The values to pick from; `range` is then ignored.", PerSample::kAllowed)
      .not_for_shapes();
}

}  // namespace

void register_random_uniform(Registry& r) {
  r.add<Uniform>(schema("random.uniform"));
  r.add<Uniform>(schema("uniform").deprecated("Use random.uniform."));
}

}  // namespace headrace
