// _tensor_subscript: indices and ranges against values written out by hand from Python's rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_tester.h"

namespace headrace {
namespace {

TestTensor input() { return TestTensor::of<int32_t>({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, "HW"); }

struct Row {
  const char* text;
  ArgMap args;
  Shape shape;
  const char* layout;
  std::vector<int32_t> values;
};

TEST(Subscript, IndicesAndRanges) {
  const Row rows[] = {
      {"x[1]", {{"at_0", 1}}, {4}, "W", {4, 5, 6, 7}},
      {"x[-1, 2]", {{"at_0", -1}, {"at_1", 2}}, {}, "", {10}},
      {"x[::2, 1]", {{"step_0", 2}, {"at_1", 1}}, {2}, "H", {1, 9}},
      {"x[::-2, 3]", {{"step_0", -2}, {"at_1", 3}}, {2}, "H", {11, 3}},
      {"x[0, 10:0:-1]", {{"at_0", 0}, {"lo_1", 10}, {"hi_1", 0}, {"step_1", -1}}, {3}, "W", {3, 2, 1}},
      {"x[2, -10:2]", {{"at_0", 2}, {"lo_1", -10}, {"hi_1", 2}}, {2}, "W", {8, 9}},
      {"x[-1:-10:-1, 0]", {{"lo_0", -1}, {"hi_0", -10}, {"step_0", -1}, {"at_1", 0}}, {3}, "H", {8, 4, 0}},
      {"x[5:1]", {{"lo_0", 5}, {"hi_0", 1}}, {0, 4}, "HW", {}},
      {"x[:, 1:3]", {{"lo_1", 1}, {"hi_1", 3}, {"num_subscripts", 2}}, {3, 2}, "HW", {1, 2, 5, 6, 9, 10}},
  };
  for (const Row& row : rows) {
    const TestTensor out = OpTester("_tensor_subscript", row.args).run({input()})[0];
    EXPECT_EQ(out.shape, row.shape) << row.text;
    EXPECT_EQ(out.layout.str(), row.layout) << row.text;
    EXPECT_EQ(out.values<int32_t>(), row.values) << row.text;
  }
}

TEST(Subscript, ScalarNodesAsIndices) {
  OpTester op("_tensor_subscript", {}, {"at_0"});
  EXPECT_THAT(op.run({input()}, {TestTensor::of<uint8_t>({}, {2})})[0].values<int32_t>(),
              testing::ElementsAre(8, 9, 10, 11));
  EXPECT_THROW(op.run({input()}, {TestTensor::of<uint8_t>({1}, {2})}), Error);
  EXPECT_THROW(op.run({input()}, {TestTensor::of<float>({}, {2})}), Error);
}

TEST(Subscript, RefusesWhatIsOutOfRange) {
  const ArgMap bad[] = {
      {{"at_0", 3}}, {{"at_0", -4}}, {{"at_2", 0}}, {{"step_0", 0}}, {{"num_subscripts", 3}, {"at_0", 0}}};
  for (const ArgMap& args : bad) {
    EXPECT_THROW(OpTester("_tensor_subscript", args).run({input()}), Error) << args.begin()->first;
  }
  EXPECT_THROW(OpTester("_tensor_subscript", {{"at_0", 0}, {"lo_0", 0}}), Error);
  EXPECT_THROW(OpTester("_subscript_dim_check", {{"num_subscripts", 3}}).run({input()}), Error);
  EXPECT_EQ(OpTester("_subscript_dim_check", {{"num_subscripts", 2}}).run({input()})[0].bytes, input().bytes);
}

}  // namespace
}  // namespace headrace
