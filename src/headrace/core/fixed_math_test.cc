// Our elementary functions against libm's long double ones, within the errors that the header states.
#include "core/fixed_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace headrace {
namespace {

constexpr int kDraws = 200000;
constexpr long double kTwoPi = 6.283185307179586476925286766559L;

// Numbers over many exponents, and many next to 1, where log is small.
double positive(std::mt19937_64& random, int max_exponent) {
  const double mantissa = std::uniform_real_distribution<double>(1, 2)(random);
  if (random() % 4 == 0) return 1 + (mantissa - 1.5) * std::ldexp(1.0, -static_cast<int>(random() % 20));
  return std::ldexp(mantissa, static_cast<int>(random() % (2 * max_exponent)) - max_exponent);
}

TEST(FixedMath, LogOfFloats) {
  std::mt19937_64 random(1);
  for (int i = 0; i < kDraws; ++i) {
    const float x = static_cast<float>(positive(random, 120));
    const long double expected = std::log(static_cast<long double>(x));
    ASSERT_LE(std::abs(fixed_log(x) - expected), 2e-7L * std::abs(expected)) << x;
  }
  EXPECT_EQ(fixed_log(1.0f), 0.0f);
}

TEST(FixedMath, LogOfDoubles) {
  std::mt19937_64 random(2);
  for (int i = 0; i < kDraws; ++i) {
    const double x = positive(random, 1000);
    const long double expected = std::log(static_cast<long double>(x));
    ASSERT_LE(std::abs(fixed_log(x) - expected), 1e-15L * std::abs(expected)) << x;
  }
  EXPECT_EQ(fixed_log(1.0), 0.0);
}

TEST(FixedMath, Exp) {
  std::mt19937_64 random(3);
  for (int i = 0; i < kDraws; ++i) {
    const double x = std::uniform_real_distribution<double>(-708, 709)(random) * (i % 2 ? 1 : 1e-3);
    const long double expected = std::exp(static_cast<long double>(x));
    ASSERT_LE(std::abs(fixed_exp(x) - expected), 1e-15L * expected) << x;
  }
  EXPECT_EQ(fixed_exp(0.0), 1.0);
  EXPECT_EQ(fixed_exp(-1e300), 0.0);
  EXPECT_EQ(fixed_exp(1e300), fixed_exp(709.0));
}

TEST(FixedMath, SineAndCosineOfTurns) {
  std::mt19937_64 random(4);
  for (int i = 0; i < kDraws; ++i) {
    const double u = i <= 8 ? i / 8.0 : std::uniform_real_distribution<double>(0, 1)(random);
    const float v = static_cast<float>(u);
    const SinCos<double> exact = fixed_sincos_turn(u);
    const SinCos<float> single = fixed_sincos_turn(v);
    ASSERT_LE(std::abs(exact.sin - std::sin(kTwoPi * u)), 4e-16L) << u;
    ASSERT_LE(std::abs(exact.cos - std::cos(kTwoPi * u)), 4e-16L) << u;
    ASSERT_LE(std::abs(single.sin - std::sin(kTwoPi * v)), 1.3e-7L) << u;
    ASSERT_LE(std::abs(single.cos - std::cos(kTwoPi * v)), 1.3e-7L) << u;
  }
}

}  // namespace
}  // namespace headrace
