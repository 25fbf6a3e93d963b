// cat: joined values, empty inputs, and what must agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_tester.h"

namespace headrace {
namespace {

using testing::ElementsAre;

TestTensor a() { return TestTensor::of<int32_t>({2, 2}, {1, 2, 3, 4}, "HW"); }

TEST(Cat, AlongEachAxis) {
  const TestTensor row = TestTensor::of<int32_t>({1, 2}, {5, 6}), column = TestTensor::of<int32_t>({2, 1}, {7, 8});
  EXPECT_THAT(OpTester("cat", {}, {}, 2).run({a(), row})[0].values<int32_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  for (const ArgMap& args : {ArgMap{{"axis", 1}}, ArgMap{{"axis", -1}}, ArgMap{{"axis_name", "W"}}}) {
    const TestTensor out = OpTester("cat", args, {}, 2).run({a(), column})[0];
    EXPECT_THAT(out.values<int32_t>(), ElementsAre(1, 2, 7, 3, 4, 8));
    EXPECT_EQ(out.layout, Layout("HW"));
  }
}

TEST(Cat, LeavesOutInputsWithoutElements) {
  OpTester op("cat", {}, {}, 2);
  EXPECT_EQ(op.run({a(), TestTensor::of<int32_t>({0, 5}, {})})[0].bytes, a().bytes);
  EXPECT_EQ(op.run({TestTensor::of<int32_t>({0, 5}, {}), a()})[0].shape, Shape({2, 2}));
  EXPECT_EQ(op.run({TestTensor::of<int32_t>({2, 0}, {}), TestTensor::of<int32_t>({3, 0}, {})})[0].shape, Shape({5, 0}));
}

TEST(Cat, RefusesWhatDoesNotFit) {
  OpTester op("cat", {}, {}, 2);
  EXPECT_THROW(op.run({a(), TestTensor::of<int32_t>({1, 3}, {1, 2, 3})}), Error);
  EXPECT_THROW(op.run({a(), TestTensor::of<int32_t>({2}, {1, 2})}), Error);
  EXPECT_THROW(op.run({a(), TestTensor::of<float>({2, 2}, {1, 2, 3, 4})}), Error);
  EXPECT_THROW(op.run({TestTensor::of<int32_t>({}, {1}), TestTensor::of<int32_t>({}, {1})}), Error);
  EXPECT_THROW(OpTester("cat", {{"axis", 2}}, {}, 2).run({a(), a()}), Error);
  EXPECT_THROW(OpTester("cat", {{"axis_name", "C"}}, {}, 2).run({a(), a()}), Error);
  EXPECT_THROW(OpTester("cat", {{"axis", 0}, {"axis_name", "H"}}, {}, 2), Error);
}

}  // namespace
}  // namespace headrace
