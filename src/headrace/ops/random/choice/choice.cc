// random.choice: elements of a tensor's first axis, or numbers below n, picked with given or equal probabilities.
#include <cmath>
#include <cstring>

#include "graph/registry.h"
#include "ops/random/random_output.h"

namespace headrace {
namespace {

// Sums p[0], p[0] + p[1], ..., in `arena`; the last one is 1 however the numbers were rounded.
std::span<double> cumulative(std::span<const float> p, Arena& arena, std::string_view about) {
  std::span<double> sums = arena.allocate_array<double>(p.size());
  double sum = 0;
  size_t last = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    check(p[i] >= 0 && p[i] <= 1, "{}: expected probabilities from 0 to 1, got {} at index {}", about, p[i], i);
    sum += static_cast<double>(p[i]);
    sums[i] = sum;
    if (p[i] > 0) last = i;
  }
  check(std::abs(sum - 1) < 1e-4, "{}: expected probabilities with the sum 1, got the sum {}", about, sum);
  for (size_t i = last; i < p.size(); ++i) sums[i] = 1;
  return sums;
}

class Choice : public SampleOperator {
 public:
  explicit Choice(const OpSpec& spec)
      : seed_(spec.seed),
        output_(spec, 1, DType::kNone),
        p_(spec, "p"),
        about_(fmt::format("[{}]", spec.schema->name())),
        about_p_(spec.about("p")) {}

  void infer(SampleContext& ctx) const override {
    const Sample& a = ctx.input(0);
    Sample& out = ctx.output(0);
    out.dtype = a.dtype;
    out.shape = output_.shape(ctx);
    if (a.shape.ndim() == 0) {
      check(is_integer(a.dtype), "{} a: expected an integer as the number of elements, or a tensor of elements, got {}",
            about_, dtype_name(a.dtype));
      return;
    }
    // The picks take the place of the first axis.
    if (out.shape.ndim() == 1) out.layout = a.layout;
    if (out.shape.ndim() == 0 && !a.layout.empty()) {
      out.layout = a.layout;
      out.layout.erase(0);
    }
    for (int axis = 1; axis < a.shape.ndim(); ++axis) out.shape.push_back(a.shape[axis]);
  }

  void run(SampleContext& ctx) const override {
    const Sample& a = ctx.input(0);
    const Sample& out = ctx.output(0);
    const Shape shape = output_.shape(ctx);
    if (a.shape.ndim() == 0) {
      visit_dtype(a.dtype, IntegerTypes(), about_, [&]<typename T>() {
        const T bound = *a.as<T>();
        T* to = out.as<T>();
        check_count(bound > 0, bound);
        pick(ctx, static_cast<uint64_t>(bound), shape.volume(),
             [&](int64_t e, uint64_t index) { to[e] = static_cast<T>(index); });
      });
      return;
    }
    check_count(a.shape[0] > 0, a.shape[0]);
    const size_t bytes = a.bytes() / static_cast<size_t>(a.shape[0]);
    const auto* from = a.as<const uint8_t>();
    auto* to = out.as<uint8_t>();
    if (bytes == 0) return;
    pick(ctx, static_cast<uint64_t>(a.shape[0]), shape.volume(), [&](int64_t e, uint64_t index) {
      std::memcpy(to + static_cast<size_t>(e) * bytes, from + index * bytes, bytes);
    });
  }

 private:
  void check_count(bool positive, auto count) const {
    check(positive, "{} a: expected at least one element to choose from, got {}", about_, count);
  }

  // Calls put(e, index) for each of `count` picks out of `size` elements.
  template <typename Put> void pick(const SampleContext& ctx, uint64_t size, int64_t count, Put put) const {
    RandomStream random = ctx.random(seed_);
    if (!p_.given()) {
      for (int64_t e = 0; e < count; ++e) put(e, random.next_below(size));
      return;
    }
    const std::span<const float> p = p_(ctx);
    check(p.size() == size, "{}: expected {} probabilities, one for each element, got {}", about_p_, size, p.size());
    const std::span<double> sums = cumulative(p, ctx.arena(), about_p_);
    for (int64_t e = 0; e < count; ++e) {
      const auto at = std::upper_bound(sums.begin(), sums.end(), random.next_double());
      put(e, static_cast<uint64_t>(at - sums.begin()));
    }
  }

  const uint64_t seed_;
  const RandomOutput output_;
  const ArgList<float> p_;
  const std::string about_;
  const std::string about_p_;
};

}  // namespace

void register_random_choice(Registry& r) {
  Schema s("random.choice");
  s.doc(
       "Picks elements along the first axis of a tensor, with repetitions. The output has the elements' type and the "
       "shape `shape` followed by that of one element.")
      .random()
      .input("a", {.doc = "A tensor to pick from along its first axis, or an integer n, which stands for 0 .. n-1."});
  random_output_args(s, "");
  r.add<Choice>(s.arg("p", ArgType::kFloatList, {}, "Probability of each element; their sum is 1. Default: equal ones.",
                      PerSample::kAllowed)
                    .not_for_shapes()
                    .devices({"cpu"}));
}

}  // namespace headrace
