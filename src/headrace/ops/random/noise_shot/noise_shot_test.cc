// noise.shot: Poisson distributions of small and large means, values, types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_tester.h"
#include "ops/random/distribution_testing.h"

namespace headrace {
namespace {

using testing::Each;
constexpr int64_t kDraws = 50000;

// Both methods: inversion below 16, rejection above.
TEST(ShotNoise, CountsHaveAPoissonDistribution) {
  for (const double mean : {0.05, 1.0, 7.3, 15.9, 16.1, 40.0, 300.0}) {
    const double factor = 0.5;
    const TestTensor in =
        TestTensor::of<float>({kDraws}, std::vector<float>(kDraws, static_cast<float>(mean * factor)));
    const int range = static_cast<int>(mean + 8 * std::sqrt(mean) + 10);
    std::vector<double> counts(range), expected(range);
    for (const float x : OpTester("noise.shot", {{"factor", factor}}).run({in})[0].values<float>()) {
      ASSERT_EQ(x / factor, std::floor(x / factor));
      ++counts.at(static_cast<size_t>(x / factor));
    }
    for (int k = 0; k < range; ++k) expected[k] = kDraws * std::exp(k * std::log(mean) - mean - std::lgamma(k + 1.0));
    // Rare counts are put together, as chi-square needs.
    std::vector<double> some_counts(1), some_expected(1);
    for (int k = 0; k < range; ++k) {
      if (expected[k] >= 10) {
        some_counts.push_back(counts[k]);
        some_expected.push_back(expected[k]);
      } else {
        some_counts[0] += counts[k];
        some_expected[0] += expected[k];
      }
    }
    EXPECT_LT(chi_square_excess(some_counts, some_expected), 5) << mean;
  }
}

TEST(ShotNoise, LargeMeansHaveMeanAndVariance) {
  for (const double mean : {1e5, 1e9}) {
    const TestTensor in = TestTensor::of<int64_t>({kDraws}, std::vector<int64_t>(kDraws, static_cast<int64_t>(mean)));
    double sum = 0, squares = 0;
    for (const int64_t x : OpTester("noise.shot", {{"factor", 1.0}}).run({in})[0].values<int64_t>()) {
      const double difference = static_cast<double>(x) - mean;
      sum += difference;
      squares += difference * difference;
    }
    EXPECT_NEAR(sum / kDraws, 0, 5 * std::sqrt(mean / kDraws));
    EXPECT_NEAR(squares / kDraws / mean, 1, 0.05);
  }
}

TEST(ShotNoise, IntegersAreMultiplesOfTheFactorOrClamped) {
  const TestTensor in = TestTensor::of<uint8_t>({1000}, std::vector<uint8_t>(1000, 200));
  for (const uint8_t x : OpTester("noise.shot").run({in})[0].values<uint8_t>()) ASSERT_TRUE(x == 255 || x % 20 == 0);
}

TEST(ShotNoise, WithoutLightThereIsNothing) {
  const TestTensor dark = TestTensor::of<float>({4}, {0, -50, -1e30f, std::nanf("")});
  EXPECT_THAT(OpTester("noise.shot").run({dark})[0].values<float>(), Each(0.0f));
  const TestTensor bright = TestTensor::of<float>({2}, {100, 1e30f});
  EXPECT_THAT(OpTester("noise.shot", {{"factor", 0.0}}).run({bright})[0].values<float>(), Each(0.0f));
  EXPECT_THAT(OpTester("noise.shot", {{"factor", -1.0}}).run({bright})[0].values<float>(), Each(0.0f));
}

TEST(ShotNoise, HugeValuesStay) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(OpTester("noise.shot").run({TestTensor::of<float>({2}, {1e30f, infinity})})[0].values<float>(),
              testing::ElementsAre(1e30f, infinity));
}

TEST(ShotNoise, RefusesOtherTypes) {
  EXPECT_THROW(OpTester("noise.shot").run({TestTensor::of<double>({1}, {1})}), Error);
}

}  // namespace
}  // namespace headrace
