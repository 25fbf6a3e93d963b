// Elementary functions with fixed results: log, exp, sine and cosine from +, -, *, / and bit operations only, so that
// the CPU, every SIMD width and the GPU agree bit by bit (compiled without contraction of a * b + c).
//
// Source of the formulas: the Taylor series of sin, cos, exp and of log((1 + s) / (1 - s)) after the usual reductions
// of the argument (for example W. J. Cody, W. Waite, "Software Manual for the Elementary Functions", 1980), cut where
// the next term is below the precision. The errors stated are bounds that fixed_math_test.cc checks.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace headrace {

// The constants of one precision, which SIMD versions of the functions read too.
template <typename T> struct FixedMath;

template <> struct FixedMath<float> {
  using Bits = uint32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr Bits kOne = 0x3f800000, kSqrtHalf = 0x3f3504f3, kMantissa = 0x007fffff;
  static constexpr Bits kTwoToMantissa = 0x4b000000;     // 2^23
  static constexpr float kExponentZero = 0x1p23f + 127;  // what 2^23 + exponent field is for numbers in [1, 2)
  static constexpr float kRound = 0x1.8p23f;             // adding and subtracting it rounds to the nearest integer
  static constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;  // an exponent times the first is exact
  static constexpr float kTwoPi = 6.28318530718f;
  // Horner's order, the highest power first.
  static constexpr std::array<float, 5> kLog = {1.0f / 11, 1.0f / 9, 1.0f / 7, 1.0f / 5, 1.0f / 3};
  static constexpr std::array<float, 5> kSin = {-1.0f / 39916800, 1.0f / 362880, -1.0f / 5040, 1.0f / 120, -1.0f / 6};
  static constexpr std::array<float, 5> kCos = {-1.0f / 3628800, 1.0f / 40320, -1.0f / 720, 1.0f / 24, -1.0f / 2};
};

template <> struct FixedMath<double> {
  using Bits = uint64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr Bits kOne = 0x3ff0000000000000, kSqrtHalf = 0x3fe6a09e667f3bcd, kMantissa = 0x000fffffffffffff;
  static constexpr Bits kTwoToMantissa = 0x4330000000000000;
  static constexpr double kExponentZero = 0x1p52 + 1023;
  static constexpr double kRound = 0x1.8p52;
  static constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
  static constexpr double kTwoPi = 6.283185307179586477;
  static constexpr std::array<double, 11> kLog = {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                                                  1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3};
  static constexpr std::array<double, 8> kSin = {
      1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
      1.0 / 362880,          -1.0 / 5040,          1.0 / 120,        -1.0 / 6};
  static constexpr std::array<double, 8> kCos = {
      1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800,
      1.0 / 40320,          -1.0 / 720,         1.0 / 24,        -1.0 / 2};
  static constexpr std::array<double, 13> kExp = {
      1.0 / 87178291200, 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
      1.0 / 5040,        1.0 / 720,        1.0 / 120,       1.0 / 24,       1.0 / 6,       1.0 / 2};
};

template <typename T, size_t N> inline T horner(T x, const std::array<T, N>& coefficients) {
  T value = coefficients[0];
  for (size_t i = 1; i < N; ++i) value = value * x + coefficients[i];
  return value;
}

// Natural logarithm of a positive normal number. Relative error below 2e-7 (float), 1e-15 (double).
template <typename T> inline T fixed_log(T x) {
  using M = FixedMath<T>;
  using Bits = typename M::Bits;
  // x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh s.
  const Bits bits = std::bit_cast<Bits>(x) + (M::kOne - M::kSqrtHalf);
  const T k = std::bit_cast<T>((bits >> M::kMantissaBits) | M::kTwoToMantissa) - M::kExponentZero;
  const T f = std::bit_cast<T>((bits & M::kMantissa) + M::kSqrtHalf) - T(1);
  const T s = f / (T(2) + f);
  const T z = s * s;
  const T two_s = s + s;
  const T log_m = two_s + two_s * (z * horner(z, M::kLog));
  return k * M::kLn2High + (log_m + k * M::kLn2Low);
}

// e to the x. Relative error below 1e-15; below -708: 0, above 709: e^709.
inline double fixed_exp(double x) {
  using M = FixedMath<double>;
  const double inside = x < 709.0 ? (x > -708.0 ? x : -708.0) : 709.0;
  const double shifted = inside * 0x1.71547652b82fep0 + M::kRound;
  const double k = shifted - M::kRound;
  const double r = (inside - k * M::kLn2High) - k * M::kLn2Low;
  const double power = 1.0 + (r + r * r * horner(r, M::kExp));
  const uint64_t exponent = (std::bit_cast<uint64_t>(shifted) + 1023) << M::kMantissaBits;  // only k's low bits stay
  return x < -708.0 ? 0.0 : power * std::bit_cast<double>(exponent);
}

template <typename T> struct SinCos {
  T sin;
  T cos;
};

// Sine and cosine of 2 pi u for u in [0, 1]. Absolute error below 1.3e-7 (float), 4e-16 (double).
template <typename T> inline SinCos<T> fixed_sincos_turn(T u) {
  using M = FixedMath<T>;
  using Bits = typename M::Bits;
  constexpr int kSignShift = sizeof(T) * 8 - 2;
  // u = q / 4 + r with |r| <= 1/8, exactly.
  const T shifted = u * T(4) + M::kRound;
  const Bits q = std::bit_cast<Bits>(shifted);
  const T a = (u - (shifted - M::kRound) * T(0.25)) * M::kTwoPi;
  const T z = a * a;
  const Bits sine = std::bit_cast<Bits>(a + a * (z * horner(z, M::kSin)));
  const Bits cosine = std::bit_cast<Bits>(T(1) + z * horner(z, M::kCos));
  // Quarter turns swap the two; the signs follow from bits of q.
  const Bits swapped = Bits(0) - (q & 1);
  const Bits difference = (sine ^ cosine) & swapped;
  return {std::bit_cast<T>(sine ^ difference ^ ((q & 2) << kSignShift)),
          std::bit_cast<T>(cosine ^ difference ^ (((q + 1) & 2) << kSignShift))};
}

}  // namespace headrace
