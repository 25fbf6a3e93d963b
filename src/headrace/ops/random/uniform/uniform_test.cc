// random.uniform: distribution per type, shapes, identity of samples, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/convert.h"
#include "ops/op_tester.h"
#include "ops/random/distribution_testing.h"

namespace headrace {
namespace {

constexpr int64_t kDraws = 100000;
ArgValue dtype(DType type) { return static_cast<int64_t>(type); }
ArgValue ints(std::vector<int64_t> values) { return values; }
ArgValue floats(std::vector<double> values) { return values; }

TestTensor draw(const ArgMap& args, const SampleId& id = {}) {
  return OpTester("random.uniform", args).run({}, {}, id)[0];
}

TEST(Uniform, IsAScalarFloatInMinusOneToOneByDefault) {
  const TestTensor out = draw({});
  EXPECT_EQ(out.dtype, DType::kFloat32);
  EXPECT_EQ(out.shape, Shape());
  EXPECT_EQ(out.values<float>().size(), 1u);
}

TEST(Uniform, RealTypesFillTheRangeEvenly) {
  const auto cdf = [](double x) { return (x - 3) / 4; };
  const ArgMap args = {{"range", floats({3, 7})}, {"shape", ints({kDraws})}};
  const std::vector<float> single = draw(args).values<float>();
  EXPECT_LT(ks_distance(single, cdf), 2);
  ArgMap wide = args;
  wide["dtype"] = dtype(DType::kFloat64);
  const std::vector<double> twice = draw(wide).values<double>();
  EXPECT_LT(ks_distance(twice, cdf), 2);
  for (const float x : single) ASSERT_TRUE(x >= 3 && x < 7);
  for (const double x : twice) ASSERT_TRUE(x >= 3 && x < 7);
}

// So narrow a range that sums are often rounded to its end.
TEST(Uniform, NeverGivesTheEndOfTheRange) {
  for (const float x : draw({{"range", floats({1e7, 1e7 + 1})}, {"shape", ints({1000})}}).values<float>())
    ASSERT_EQ(x, 1e7f);
}

TEST(Uniform, EndsOfIntegersHaveHalfTheWeight) {
  for (const DType type : {DType::kUInt8, DType::kInt8, DType::kInt16, DType::kUInt16, DType::kInt32, DType::kUInt32,
                           DType::kInt64, DType::kUInt64}) {
    const TestTensor out = draw({{"range", floats({2, 6})}, {"dtype", dtype(type)}, {"shape", ints({kDraws})}});
    std::vector<double> counts(9);
    visit_dtype(type, IntegerTypes(), "", [&]<typename T>() {
      for (const T x : out.values<T>()) ++counts.at(static_cast<size_t>(x));
    });
    const double n = kDraws;
    EXPECT_LT(chi_square_excess(counts, {0, 0, n / 8, n / 4, n / 4, n / 4, n / 8, 0, 0}), 5) << dtype_name(type);
  }
}

TEST(Uniform, ClampsToTheType) {
  const std::vector<uint8_t> out =
      draw({{"range", floats({-1000, 1000})}, {"dtype", dtype(DType::kUInt8)}, {"shape", ints({1000})}})
          .values<uint8_t>();
  EXPECT_THAT(out, testing::Contains(0));
  EXPECT_THAT(out, testing::Contains(255));
}

TEST(Uniform, PicksValuesEquallyOften) {
  const std::vector<float> out =
      draw({{"values", floats({0.5, 1.5, -2.5})}, {"range", floats({5, 6})}, {"shape", ints({kDraws})}})
          .values<float>();
  std::vector<double> counts(3);
  for (const float x : out) ++counts.at(x == 0.5f ? 0 : x == 1.5f ? 1 : 2);
  EXPECT_LT(chi_square_excess(counts, {kDraws / 3.0, kDraws / 3.0, kDraws / 3.0}), 5);
  const std::vector<int32_t> rounded =
      draw({{"values", floats({0.5, 1.5, -2.5})}, {"dtype", dtype(DType::kInt32)}, {"shape", ints({100})}})
          .values<int32_t>();
  for (const int32_t x : rounded) ASSERT_THAT(x, testing::AnyOf(1, 2, -3));
}

TEST(Uniform, TakesTheShapeOfAnInput) {
  OpTester op("random.uniform", {}, {}, 1);
  const TestTensor out = op.run({TestTensor::of<uint8_t>({2, 1, 3}, std::vector<uint8_t>(6), "HWC")})[0];
  EXPECT_EQ(out.shape, (Shape{2, 1, 3}));
  EXPECT_TRUE(out.layout.empty());
}

TEST(Uniform, ArgumentsMayBeTensors) {
  OpTester op("random.uniform", {}, {"range", "shape"});
  const TestTensor out = op.run({}, {TestTensor::of<float>({2}, {10, 11}), TestTensor::of<int32_t>({2}, {2, 3})})[0];
  EXPECT_EQ(out.shape, (Shape{2, 3}));
  EXPECT_THAT(out.values<float>(), testing::Each(testing::AllOf(testing::Ge(10.0f), testing::Lt(11.0f))));
}

TEST(Uniform, DependsOnTheIdentityOfTheSampleOnly) {
  const ArgMap args = {{"shape", ints({300})}};
  const std::vector<float> out = draw(args, {1, 2, 3}).values<float>();
  EXPECT_EQ(draw(args, {1, 2, 77}).values<float>(), out);  // another record at that position
  EXPECT_NE(draw(args, {1, 3, 3}).values<float>(), out);
  EXPECT_NE(draw(args, {2, 2, 3}).values<float>(), out);
  EXPECT_NE(OpTester("random.uniform", args, {}, -1, 99).run({}, {}, {1, 2, 3})[0].values<float>(), out);
  // An element does not depend on how many there are.
  const std::vector<float> fewer = draw({{"shape", ints({70})}}, {1, 2, 3}).values<float>();
  EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), out.begin()));
}

TEST(Uniform, RefusesWhatCannotBe) {
  EXPECT_THROW(draw({{"range", floats({1, 1})}}), Error);
  EXPECT_THROW(draw({{"range", floats({2, 1})}}), Error);
  EXPECT_THROW(draw({{"range", floats({1, 2, 3})}}), Error);
  EXPECT_THROW(draw({{"values", floats({})}}), Error);
  EXPECT_THROW(draw({{"shape", ints({-1})}}), Error);
  EXPECT_THROW(draw({{"dtype", dtype(DType::kFloat16)}}), Error);
  EXPECT_THROW(draw({{"dtype", dtype(DType::kBool)}}), Error);
  EXPECT_THROW(OpTester("random.uniform", {{"shape", ints({2})}}, {}, 1), Error);
}

TEST(Uniform, HasItsOldName) { EXPECT_EQ(OpTester("uniform").run({})[0].values<float>(), draw({}).values<float>()); }

}  // namespace
}  // namespace headrace
