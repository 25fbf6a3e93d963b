// What operators that make random tensors share: the output's shape and type, and loops over draws.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/convert.h"
#include "graph/arg.h"
#include "kernels/cpu/random_fill.h"

namespace headrace {

using RandomTypes = TypeList<uint8_t, uint16_t, uint32_t, uint64_t, int8_t, int16_t, int32_t, int64_t, float, double>;

// Inputs of the operators that add noise.
using NoiseTypes = TypeList<uint8_t, uint16_t, uint32_t, uint64_t, int8_t, int16_t, int32_t, int64_t, float>;

// Precision of the real number that becomes a T: a float has too few bits for wide integers.
template <typename T>
using DrawType = std::conditional_t<(std::is_integral_v<T> ? sizeof(T) > 2 : sizeof(T) > 4), double, float>;

// Declares the input that gives the shape and the arguments `shape` and, if `default_dtype` says something, `dtype`.
Schema& random_output_args(Schema& schema, const char* default_dtype);

// Shape and type of the output: like the input `shape_like`, or argument `shape`, else a scalar.
class RandomOutput {
 public:
  RandomOutput(const OpSpec& spec, int shape_like, DType default_dtype);

  // Sets shape and type of output 0.
  void describe(SampleContext& ctx) const;
  Shape shape(const SampleContext& ctx) const;
  DType dtype() const { return dtype_; }
  bool is_scalar() const { return !shape_.given() && shape_like_ < 0; }

 private:
  const std::string about_;
  const ArgList<int64_t> shape_;
  const int shape_like_;  // index of the input, or -1
  const DType dtype_;
};

// Elements made at once.
constexpr int64_t kDrawChunk = 4 * kRandomChunk;

// Calls use(e, draws, n) for elements e .. e + n - 1 of `count`, with draws of type Real made by `fill`.
template <typename Real, typename Fill, typename Use>
void for_draws(const RandomStream& stream, int64_t count, Fill fill, Use use) {
  Real draws[kDrawChunk];
  for (int64_t e = 0; e < count; e += kDrawChunk) {
    const int64_t n = std::min(kDrawChunk, count - e);
    fill(stream, e, draws, n);
    use(e, draws, n);
  }
}
template <typename Real, typename Use> void for_uniform(const RandomStream& stream, int64_t count, Use use) {
  for_draws<Real>(
      stream, count, [](auto... args) { fill_uniform(args...); }, use);
}
template <typename Real, typename Use> void for_normal(const RandomStream& stream, int64_t count, Use use) {
  for_draws<Real>(
      stream, count, [](auto... args) { fill_normal(args...); }, use);
}

// A stream of its own for element e of the sample that `stream` belongs to, for methods that reject and draw again.
class ElementStreams {
 public:
  explicit ElementStreams(RandomStream stream) : seed_(stream.next_u64()) {}
  RandomStream operator()(int64_t e) const { return RandomStream(seed_, 0, e); }

 private:
  uint64_t seed_;
};

}  // namespace headrace
