// one_hot: shapes, values and labels that are no class.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_tester.h"

namespace headrace {
namespace {

using testing::ElementsAre;

TEST(OneHot, AxisGoesLastOrWhereAsked) {
  const TestTensor labels = TestTensor::of<int32_t>({2}, {2, 0});
  EXPECT_THAT(OpTester("one_hot", {{"num_classes", 3}}).run({labels})[0].values<float>(),
              ElementsAre(0, 0, 1, 1, 0, 0));
  const TestTensor first = OpTester("one_hot", {{"num_classes", 3}, {"axis", 0}}).run({labels})[0];
  EXPECT_EQ(first.shape, Shape({3, 2}));
  EXPECT_THAT(first.values<float>(), ElementsAre(0, 1, 0, 0, 1, 0));
}

TEST(OneHot, OneElementGivesAPlainVectorUnlessAxisIsGiven) {
  const TestTensor label = TestTensor::of<int32_t>({1}, {1});
  EXPECT_EQ(OpTester("one_hot", {{"num_classes", 3}}).run({label})[0].shape, Shape({3}));
  EXPECT_EQ(OpTester("one_hot", {{"num_classes", 3}, {"axis", -1}}).run({label})[0].shape, Shape({1, 3}));
}

TEST(OneHot, LabelsThatAreNoClassAndFractions) {
  const TestTensor labels = TestTensor::of<float>({5}, {-1, 2, 1.9f, -0.5f, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_THAT(OpTester("one_hot", {{"num_classes", 2}}).run({labels})[0].values<float>(),
              ElementsAre(0, 0, 0, 0, 0, 1, 1, 0, 0, 0));
}

TEST(OneHot, ValuesTypeAndLayout) {
  OpTester op("one_hot", {{"num_classes", 2},
                          {"dtype", static_cast<int64_t>(DType::kUInt8)},
                          {"on_value", 300.0},
                          {"off_value", 1.5},
                          {"axis_name", "C"}});
  const TestTensor out = op.run({TestTensor::of<uint8_t>({1, 2}, {0, 1}, "HW")})[0];
  EXPECT_EQ(out.layout, Layout("HWC"));
  EXPECT_THAT(out.values<uint8_t>(), ElementsAre(255, 2, 2, 255));
}

}  // namespace
}  // namespace headrace
