// random.choice: probabilities, numbers and tensors to choose from, shapes and layouts, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_tester.h"
#include "ops/random/distribution_testing.h"

namespace headrace {
namespace {

using testing::ElementsAre;
constexpr int64_t kDraws = 100000;
ArgValue ints(std::vector<int64_t> values) { return values; }
ArgValue floats(std::vector<double> values) { return values; }

TestTensor choose(const TestTensor& a, const ArgMap& args) { return OpTester("random.choice", args).run({a})[0]; }
TestTensor number(int32_t n) { return TestTensor::of<int32_t>({}, {n}); }

std::vector<double> count(const std::vector<int32_t>& draws, int n) {
  std::vector<double> counts(n);
  for (const int32_t x : draws) ++counts.at(x);
  return counts;
}

TEST(Choice, NumbersBelowNEquallyOften) {
  const TestTensor out = choose(number(7), {{"shape", ints({kDraws})}});
  EXPECT_LT(chi_square_excess(count(out.values<int32_t>(), 7), std::vector<double>(7, kDraws / 7.0)), 5);
}

TEST(Choice, WithProbabilities) {
  const double n = kDraws;
  const TestTensor out = choose(number(5), {{"shape", ints({kDraws})}, {"p", floats({0.1, 0, 0.6, 0.3, 0})}});
  EXPECT_LT(chi_square_excess(count(out.values<int32_t>(), 5), {0.1 * n, 0, 0.6 * n, 0.3 * n, 0}), 5);
}

// The sum may be off by 1e-4; what is missing must not go to an element of probability 0.
TEST(Choice, ElementsOfProbabilityZeroNeverCome) {
  const TestTensor out = choose(number(3), {{"shape", ints({kDraws})}, {"p", floats({0.5, 0.49995, 0})}});
  EXPECT_EQ(count(out.values<int32_t>(), 3)[2], 0);
}

TEST(Choice, KeepsTheTypeOfANumber) {
  const TestTensor out = choose(TestTensor::of<uint64_t>({}, {3}), {{"shape", ints({4})}});
  EXPECT_EQ(out.dtype, DType::kUInt64);
}

TEST(Choice, SlicesOfTheFirstAxis) {
  const TestTensor a = TestTensor::of<int16_t>({3, 2}, {0, 1, 10, 11, 20, 21}, "HW");
  const TestTensor many = choose(a, {{"shape", ints({50})}});
  EXPECT_EQ(many.shape, (Shape{50, 2}));
  EXPECT_EQ(many.layout, Layout("HW"));
  const std::vector<int16_t> values = many.values<int16_t>();
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(values[2 * i] % 10, 0);
    ASSERT_EQ(values[2 * i + 1], values[2 * i] + 1);
  }
  const TestTensor one = choose(a, {});
  EXPECT_EQ(one.shape, (Shape{2}));
  EXPECT_EQ(one.layout, Layout("W"));
  const TestTensor grid = choose(a, {{"shape", ints({2, 3})}});
  EXPECT_EQ(grid.shape, (Shape{2, 3, 2}));
  EXPECT_TRUE(grid.layout.empty());
}

TEST(Choice, TakesTheShapeOfAnInput) {
  OpTester op("random.choice", {}, {}, 2);
  EXPECT_EQ(op.run({number(5), TestTensor::of<float>({2, 2}, {0, 0, 0, 0})})[0].shape, (Shape{2, 2}));
}

TEST(Choice, AnyTypeOfElements) {
  EXPECT_THAT(choose(TestTensor::of<bool>({1}, {true}), {}).values<bool>(), ElementsAre(true));
  EXPECT_THAT(choose(TestTensor::of<float>({1}, {1.5f}), {{"shape", ints({2})}}).values<float>(),
              ElementsAre(1.5f, 1.5f));
}

TEST(Choice, RefusesWhatCannotBe) {
  EXPECT_THROW(choose(number(0), {}), Error);
  EXPECT_THROW(choose(number(-3), {}), Error);
  EXPECT_THROW(choose(TestTensor::of<float>({}, {2.5f}), {}), Error);
  EXPECT_THROW(choose(TestTensor::of<int32_t>({0}, {}), {}), Error);
  EXPECT_THROW(choose(number(3), {{"p", floats({0.5, 0.5})}}), Error);
  EXPECT_THROW(choose(number(3), {{"p", floats({0.5, 0.5, 0.5})}}), Error);
  EXPECT_THROW(choose(number(3), {{"p", floats({-0.5, 1, 0.5})}}), Error);
}

}  // namespace
}  // namespace headrace
