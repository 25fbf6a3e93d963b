// Arrays of random numbers: element e is a pure function of the stream's name and e, equal for every SIMD width.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/fixed_math.h"
#include "core/philox.h"

namespace headrace {

// `first` of the functions below, the element that a part of an array starts with, is a multiple of this.
constexpr int64_t kRandomChunk = 64;

// Words first .. first + count - 1 of the stream.
void fill_words(const RandomStream& stream, int64_t first, uint32_t* out, int64_t count);

// Uniform in [0, 1): floats on the grid of 2^-24 from a word each, doubles on that of 2^-52 from two words each.
void fill_uniform(const RandomStream& stream, int64_t first, float* out, int64_t count);
void fill_uniform(const RandomStream& stream, int64_t first, double* out, int64_t count);

// Normal with mean 0 and deviation 1, in pairs that come from two words (floats, within +-6.7) or four (doubles, within
// +-8.6). Source: G. E. P. Box, M. E. Muller, "A note on the generation of random normal deviates", 1958.
void fill_normal(const RandomStream& stream, int64_t first, float* out, int64_t count);
void fill_normal(const RandomStream& stream, int64_t first, double* out, int64_t count);

// The same for single elements; SIMD code repeats these formulas.
inline float uniform_of(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
inline double uniform_of(uint64_t bits) { return std::bit_cast<double>((bits >> 12) | FixedMath<double>::kOne) - 1.0; }

template <typename T> struct NormalPair {
  T first;
  T second;
};
inline NormalPair<float> normal_pair_of(uint32_t a, uint32_t b) {
  const float u = (static_cast<float>(static_cast<int32_t>(a >> 1)) + 0.5f) * 0x1p-31f;
  const float radius = std::sqrt(-2.0f * fixed_log(u));
  const SinCos<float> turn = fixed_sincos_turn(uniform_of(b));
  return {radius * turn.cos, radius * turn.sin};
}
inline NormalPair<double> normal_pair_of(uint64_t a, uint64_t b) {
  const double radius = std::sqrt(-2.0 * fixed_log(uniform_of(a) + 0x1p-53));
  const SinCos<double> turn = fixed_sincos_turn(uniform_of(b));
  return {radius * turn.cos, radius * turn.sin};
}

}  // namespace headrace
