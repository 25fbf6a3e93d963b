// cast, cast_like: types, shapes and layouts; the numbers themselves are tested in core/convert_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_tester.h"

namespace headrace {
namespace {

using testing::ElementsAre;

TEST(Cast, RoundsClampsAndKeepsTheRest) {
  OpTester op("cast", {{"dtype", static_cast<int64_t>(DType::kUInt8)}});
  const TestTensor out = op.run({TestTensor::of<float>({2, 2}, {0.5f, 2.5f, -1, 300}, "HW")})[0];
  EXPECT_EQ(out.shape, Shape({2, 2}));
  EXPECT_EQ(out.layout, Layout("HW"));
  EXPECT_THAT(out.values<uint8_t>(), ElementsAre(1, 3, 0, 255));
}

TEST(Cast, EmptySampleAndSameType) {
  OpTester op("cast", {{"dtype", static_cast<int64_t>(DType::kFloat32)}});
  EXPECT_TRUE(op.run({TestTensor::of<int32_t>({0, 3}, {})})[0].bytes.empty());
  EXPECT_THAT(op.run({TestTensor::of<float>({}, {1.5f})})[0].values<float>(), ElementsAre(1.5f));
}

TEST(Cast, RefusesNoType) { EXPECT_THROW(OpTester("cast", {{"dtype", static_cast<int64_t>(DType::kNone)}}), Error); }

TEST(CastLike, TakesTheTypeOfTheSecondInput) {
  OpTester op("cast_like");
  const TestTensor out = op.run({TestTensor::of<float>({3}, {-1.5f, 0.49f, 7}), TestTensor::of<int16_t>({1}, {0})})[0];
  EXPECT_THAT(out.values<int16_t>(), ElementsAre(-2, 0, 7));
}

}  // namespace
}  // namespace headrace
