// noise.gaussian: distribution of the noise, rounding and clamping, types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_tester.h"
#include "ops/random/distribution_testing.h"

namespace headrace {
namespace {

constexpr int64_t kDraws = 50000;

TEST(GaussianNoise, AddsNormalNumbers) {
  const TestTensor in = TestTensor::of<float>({kDraws}, std::vector<float>(kDraws, 100));
  const TestTensor out = OpTester("noise.gaussian", {{"mean", 2.0}, {"stddev", 3.0}}).run({in})[0];
  EXPECT_LT(ks_distance(out.values<float>(), [](double x) { return normal_cdf((x - 102) / 3); }), 2);
}

TEST(GaussianNoise, IntegersAreRoundedAndClamped) {
  const TestTensor in = TestTensor::of<uint8_t>({kDraws}, std::vector<uint8_t>(kDraws, 250));
  std::vector<double> counts(256), expected(256);
  for (const uint8_t x : OpTester("noise.gaussian", {{"stddev", 4.0}}).run({in})[0].values<uint8_t>()) ++counts[x];
  for (int x = 225; x < 256; ++x) {
    const double above = x == 255 ? 1 : normal_cdf((x + 0.5 - 250) / 4);
    expected[x] = kDraws * (above - (x == 225 ? 0 : normal_cdf((x - 0.5 - 250) / 4)));
  }
  EXPECT_LT(chi_square_excess(counts, expected), 5);
}

TEST(GaussianNoise, WithoutDeviationNothingHappens) {
  const std::vector<int64_t> values = {0, -5, int64_t{1} << 40, -(int64_t{1} << 50)};
  const TestTensor out =
      OpTester("noise.gaussian", {{"stddev", 0.0}}).run({TestTensor::of<int64_t>({2, 2}, values, "HW")})[0];
  EXPECT_EQ(out.values<int64_t>(), values);
  EXPECT_EQ(out.layout, Layout("HW"));
}

TEST(GaussianNoise, RefusesOtherTypes) {
  OpTester op("noise.gaussian");
  EXPECT_THROW(op.run({TestTensor::of<bool>({1}, {true})}), Error);
  EXPECT_THROW(op.run({TestTensor::of<double>({1}, {1})}), Error);
}

}  // namespace
}  // namespace headrace
