// random.normal: distribution per type, arguments, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_tester.h"
#include "ops/random/distribution_testing.h"

namespace headrace {
namespace {

constexpr int64_t kDraws = 100000;
ArgValue dtype(DType type) { return static_cast<int64_t>(type); }
ArgValue ints(std::vector<int64_t> values) { return values; }

TEST(Normal, IsAStandardNormalFloatByDefault) {
  const TestTensor out = OpTester("random.normal", {{"shape", ints({kDraws})}}).run({})[0];
  EXPECT_LT(ks_distance(out.values<float>(), normal_cdf), 2);
}

TEST(Normal, HasMeanAndDeviation) {
  const ArgMap args = {{"shape", ints({kDraws})}, {"mean", 5.0}, {"stddev", 0.25}, {"dtype", dtype(DType::kFloat64)}};
  const std::vector<double> out = OpTester("random.normal", args).run({})[0].values<double>();
  EXPECT_LT(ks_distance(out, [](double x) { return normal_cdf((x - 5) / 0.25); }), 2);
}

TEST(Normal, IntegersAreRoundedAndClamped) {
  const ArgMap args = {{"shape", ints({kDraws})}, {"stddev", 100.0}, {"dtype", dtype(DType::kInt8)}};
  std::vector<double> counts(256), expected(256);
  for (const int8_t x : OpTester("random.normal", args).run({})[0].values<int8_t>()) ++counts[x + 128];
  for (int x = -128; x < 128; ++x) {
    const double above = x == 127 ? 1 : normal_cdf((x + 0.5) / 100);
    const double below = x == -128 ? 0 : normal_cdf((x - 0.5) / 100);
    expected[x + 128] = kDraws * (above - below);
  }
  EXPECT_LT(chi_square_excess(counts, expected), 5);
}

TEST(Normal, ANegativeDeviationMirrors) {
  const ArgMap shape = {{"shape", ints({9})}};
  ArgMap mirrored = shape;
  mirrored["stddev"] = -1.0;
  const std::vector<float> out = OpTester("random.normal", shape).run({})[0].values<float>();
  std::vector<float> negated = OpTester("random.normal", mirrored).run({})[0].values<float>();
  for (float& x : negated) x = -x;
  EXPECT_EQ(out, negated);
}

TEST(Normal, ArgumentsMayBeTensors) {
  OpTester op("random.normal", {}, {"mean", "stddev"});
  EXPECT_THAT(op.run({}, {TestTensor::of<float>({}, {7}), TestTensor::of<float>({1}, {0})})[0].values<float>(),
              testing::ElementsAre(7.0f));
}

TEST(Normal, RefusesOtherTypes) {
  EXPECT_THROW(OpTester("random.normal", {{"dtype", dtype(DType::kFloat16)}}), Error);
  EXPECT_THROW(OpTester("random.normal", {{"dtype", dtype(DType::kBool)}}), Error);
}

TEST(Normal, HasItsOldName) {
  EXPECT_EQ(OpTester("normal_distribution").run({})[0].values<float>(),
            OpTester("random.normal").run({})[0].values<float>());
}

}  // namespace
}  // namespace headrace
