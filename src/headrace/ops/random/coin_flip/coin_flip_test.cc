// random.coin_flip: frequency of ones, types, ends of the probability.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "ops/op_tester.h"

namespace headrace {
namespace {

ArgValue dtype(DType type) { return static_cast<int64_t>(type); }
ArgValue ints(std::vector<int64_t> values) { return values; }

double ones(double probability) {
  const ArgMap args = {{"shape", ints({100000})}, {"probability", probability}};
  const std::vector<int32_t> out = OpTester("random.coin_flip", args).run({})[0].values<int32_t>();
  return static_cast<double>(std::accumulate(out.begin(), out.end(), int64_t{0})) / 100000;
}

TEST(CoinFlip, GivesOnesWithTheProbability) {
  for (const double p : {0.5, 0.1, 0.93}) EXPECT_NEAR(ones(p), p, 5 * std::sqrt(p * (1 - p) / 100000)) << p;
  for (const double p : {0.0, -1.0}) EXPECT_EQ(ones(p), 0) << p;
  for (const double p : {1.0, 2.0}) EXPECT_EQ(ones(p), 1) << p;
}

TEST(CoinFlip, AllTypesGiveTheSameCoins) {
  const auto flip = [](DType type) {
    return OpTester("random.coin_flip", {{"shape", ints({100})}, {"dtype", dtype(type)}}).run({})[0];
  };
  const std::vector<int32_t> coins = flip(DType::kInt32).values<int32_t>();
  const std::vector<uint8_t> bytes = flip(DType::kUInt8).values<uint8_t>();
  const std::vector<bool> bools = flip(DType::kBool).values<bool>();
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(bytes[i], coins[i]);
    ASSERT_EQ(bools[i], coins[i] == 1);
  }
}

TEST(CoinFlip, ProbabilityMayBeATensor) {
  OpTester op("random.coin_flip", {}, {"probability"});
  EXPECT_THAT(op.run({}, {TestTensor::of<float>({}, {1})})[0].values<int32_t>(), testing::ElementsAre(1));
  EXPECT_THAT(op.run({}, {TestTensor::of<float>({}, {0})})[0].values<int32_t>(), testing::ElementsAre(0));
}

TEST(CoinFlip, RefusesOtherTypes) {
  EXPECT_THROW(OpTester("random.coin_flip", {{"dtype", dtype(DType::kFloat32)}}), Error);
  EXPECT_THROW(OpTester("random.coin_flip", {{"dtype", dtype(DType::kInt64)}}), Error);
}

TEST(CoinFlip, HasItsOldName) {
  const ArgMap shape = {{"shape", ints({50})}};
  EXPECT_EQ(OpTester("coin_flip", shape).run({})[0].values<int32_t>(),
            OpTester("random.coin_flip", shape).run({})[0].values<int32_t>());
}

}  // namespace
}  // namespace headrace
