// pad: batches padded to their largest sample, and samples to a given shape.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_tester.h"

namespace headrace {
namespace {

using Ints = std::vector<int64_t>;
using testing::ElementsAre;

std::vector<TestTensor> batch() {
  return {TestTensor::of<int16_t>({2, 3}, {1, 2, 3, 4, 5, 6}, "HW"),
          TestTensor::of<int16_t>({4, 1}, {7, 8, 9, 10}, "HW")};
}

struct Row {
  ArgMap args;
  Shape shapes[2];
};

TEST(Pad, ToTheLargestOfTheBatch) {
  const Row rows[] = {
      {{}, {{4, 3}, {4, 3}}},
      {{{"axes", 0}}, {{4, 3}, {4, 1}}},
      {{{"axes", -1}}, {{2, 3}, {4, 3}}},
      {{{"axis_names", "WH"}}, {{4, 3}, {4, 3}}},
      {{{"axes", 1}, {"align", 4}}, {{2, 4}, {4, 4}}},
      {{{"shape", Ints{6, -1}}, {"align", Ints{4, 2}}}, {{8, 4}, {8, 4}}},
      {{{"axes", 0}, {"shape", 0}}, {{4, 3}, {4, 1}}},
  };
  for (const Row& row : rows) {
    const auto out = OpTester("pad", row.args).run_batch({batch()})[0];
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(out[i].shape, row.shapes[i]) << to_string(row.shapes[i]);
  }
}

TEST(Pad, FillsWhatIsNewAndKeepsTheRest) {
  const auto out = OpTester("pad", {{"fill_value", -1.0}}).run_batch({batch()})[0];
  EXPECT_THAT(out[0].values<int16_t>(), ElementsAre(1, 2, 3, 4, 5, 6, -1, -1, -1, -1, -1, -1));
  EXPECT_THAT(out[1].values<int16_t>(), ElementsAre(7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1, -1));
}

TEST(Pad, ArgumentsPerSample) {
  OpTester op("pad", {}, {"axes", "fill_value"});
  const auto out = op.run_batch({batch()}, {{TestTensor::of<int32_t>({1}, {0}), TestTensor::of<int32_t>({1}, {1})},
                                            {TestTensor::of<float>({}, {-2}), TestTensor::of<float>({}, {0.5f})}})[0];
  EXPECT_THAT(out[0].values<int16_t>(), ElementsAre(1, 2, 3, 4, 5, 6, -2, -2, -2, -2, -2, -2));
  EXPECT_THAT(out[1].values<int16_t>(), ElementsAre(7, 1, 1, 8, 1, 1, 9, 1, 1, 10, 1, 1));
}

TEST(Pad, ToAGivenShapeWorksSampleBySample) {
  OpTester op("pad", {{"shape", Ints{3, 2}}, {"fill_value", 300.0}});
  const TestTensor out = op.run({TestTensor::of<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6})})[0];
  EXPECT_EQ(out.shape, Shape({3, 3}));  // never cut
  EXPECT_THAT(out.values<uint8_t>(), ElementsAre(1, 2, 3, 4, 5, 6, 255, 255, 255));
}

TEST(Pad, RefusesBadArguments) {
  const ArgMap bad[] = {
      {{"axes", 2}}, {{"axes", Ints{0, -2}}}, {{"axis_names", "C"}}, {{"align", 0}}, {{"align", Ints{1, 2, 3}}}};
  for (const ArgMap& args : bad) {
    EXPECT_THROW(OpTester("pad", args).run_batch({batch()}), Error) << to_string(args.begin()->second);
  }
  EXPECT_THROW(OpTester("pad", {{"axes", 0}, {"axis_names", "H"}}), Error);
}

}  // namespace
}  // namespace headrace
