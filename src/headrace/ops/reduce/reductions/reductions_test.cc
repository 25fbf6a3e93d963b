// reductions.* against plain loops: types, axes, shapes that need lanes, empty samples, rounding, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/op_tester.h"
#include "ops/reduce/axes.h"

namespace headrace {
namespace {

using testing::ElementsAre;

template <typename T> TestTensor counting(const Shape& shape) {
  std::vector<T> values(static_cast<size_t>(shape.volume()));
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t value = static_cast<int64_t>(i * 37 + 11) % 101;
    values[i] = static_cast<T>(std::is_signed_v<T> ? value - 50 : value);
  }
  return TestTensor::of(shape, values);
}

// The values that go into each result, by the definition: the position without the reduced axes.
template <typename T> std::vector<std::vector<double>> groups_of(const TestTensor& in, AxisSet reduced) {
  const Shape kept = kept_shape(in.shape, reduced);
  std::vector<std::vector<double>> groups(static_cast<size_t>(kept.volume()));
  const auto values = in.values<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), at = 0, size = 1;
    for (int axis = in.shape.ndim() - 1; axis >= 0; --axis) {
      const int64_t index = rest % in.shape[axis];
      rest /= in.shape[axis];
      if (kept[axis] != 1) at += index * size;
      size *= kept[axis];
    }
    groups[static_cast<size_t>(at)].push_back(static_cast<double>(values[i]));
  }
  return groups;
}

double expected(const std::string& name, const std::vector<double>& values) {
  double sum = 0, squares = 0, least = INFINITY, most = -INFINITY;
  for (double x : values) {
    sum += x;
    squares += x * x;
    least = std::min(least, x);
    most = std::max(most, x);
  }
  const double n = static_cast<double>(values.size());
  if (name == "sum") return sum;
  if (name == "mean") return sum / n;
  if (name == "mean_square") return squares / n;
  if (name == "rms") return std::sqrt(squares / n);
  if (name == "min") return least;
  return most;
}

double number(const TestTensor& tensor, size_t i) {
  double result = 0;
  visit_dtype(tensor.dtype, AllTypes(), "number", [&]<typename T>() {
    if constexpr (std::is_arithmetic_v<T>) result = static_cast<double>(tensor.values<T>()[i]);
  });
  return result;
}

const std::vector<std::pair<Shape, std::vector<int64_t>>> kCases = {{{7}, {0}},         {{3, 5}, {0}},
                                                                    {{3, 5}, {1}},      {{2, 3, 4}, {0, 2}},
                                                                    {{2, 3, 4}, {1}},   {{40, 50, 3}, {0, 1}},
                                                                    {{40, 50, 3}, {2}}, {{3, 500}, {1}},
                                                                    {{500, 3}, {0}},    {{2, 333, 3, 2}, {1, 3}},
                                                                    {{1, 257}, {1}},    {{4, 300, 5}, {1}},
                                                                    {{1, 1, 1}, {1}},   {{3, 2, 2, 2, 2}, {0, 2, 4}},
                                                                    {{2, 3}, {}}};

template <typename T> void check_all(const char* name) {
  for (const auto& [shape, axes] : kCases) {
    SCOPED_TRACE(std::string(name) + " " + std::string(dtype_name(dtype_of<T>)) + " " + to_string(shape));
    AxisSet reduced = 0;
    for (int64_t axis : axes) reduced |= AxisSet{1} << axis;
    const TestTensor in = counting<T>(shape);
    const TestTensor out = OpTester(std::string("reductions.") + name, {{"axes", axes}}).run({in})[0];
    const auto groups = groups_of<T>(in, reduced);
    ASSERT_EQ(out.shape.volume(), static_cast<int64_t>(groups.size()));
    ASSERT_EQ(out.shape.ndim(), shape.ndim() - static_cast<int>(axes.size()));
    for (size_t i = 0; i < groups.size(); ++i) {
      const double want = expected(name, groups[i]);
      ASSERT_NEAR(number(out, i), want, 1e-6 * std::abs(want) + 1e-6) << i;
    }
  }
}

TEST(Reductions, AgreeWithPlainLoops) {
  for (const char* name : {"sum", "mean", "mean_square", "rms", "min", "max"}) {
    check_all<uint8_t>(name);
    check_all<int8_t>(name);
    check_all<uint16_t>(name);
    check_all<int16_t>(name);
    check_all<uint32_t>(name);
    check_all<int32_t>(name);
    check_all<uint64_t>(name);
    check_all<int64_t>(name);
    check_all<float>(name);
  }
}

TEST(Reductions, DeviationsFromAGivenMean) {
  for (const auto& [shape, axes] : kCases) {
    SCOPED_TRACE(to_string(shape));
    AxisSet reduced = 0;
    for (int64_t axis : axes) reduced |= AxisSet{1} << axis;
    const TestTensor in = counting<float>(shape);
    const auto groups = groups_of<float>(in, reduced);
    std::vector<float> means;
    for (const auto& group : groups) means.push_back(static_cast<float>(expected("mean", group)) + 0.5f);
    const TestTensor mean = TestTensor::of(kept_shape(shape, reduced), means);
    const TestTensor variance = OpTester("reductions.variance", {{"axes", axes}, {"ddof", -1}}).run({in, mean})[0];
    const TestTensor deviation = OpTester("reductions.std_dev", {{"axes", axes}, {"ddof", -1}}).run({in, mean})[0];
    for (size_t i = 0; i < groups.size(); ++i) {
      double squares = 0;
      for (double x : groups[i]) squares += (x - means[i]) * (x - means[i]);
      const double want = squares / (static_cast<double>(groups[i].size()) + 1);
      ASSERT_NEAR(number(variance, i), want, 1e-6 * want);
      ASSERT_NEAR(number(deviation, i), std::sqrt(want), 1e-6 * want);
    }
  }
}

TEST(Reductions, OneMeanForAllResults) {
  const TestTensor in = TestTensor::of<int16_t>({2, 2}, {1, 2, 3, 4}), mean = TestTensor::of<double>({1}, {2});
  EXPECT_THAT(OpTester("reductions.variance", {{"axes", 0}}).run({in, mean})[0].values<float>(), ElementsAre(1, 2));
  EXPECT_THROW(OpTester("reductions.variance", {{"axes", 0}}).run({in, TestTensor::of<float>({3}, {1, 2, 3})}), Error);
}

TEST(Reductions, ShapesAndLayouts) {
  TestTensor in = counting<uint8_t>({2, 3, 4});
  in.layout = "HWC";
  EXPECT_EQ(OpTester("reductions.sum").run({in})[0].shape, Shape());
  const TestTensor named = OpTester("reductions.sum", {{"axis_names", "W"}}).run({in})[0];
  EXPECT_EQ(named.shape, Shape({2, 4}));
  EXPECT_EQ(named.layout, Layout("HC"));
  const TestTensor kept = OpTester("reductions.sum", {{"axes", -1}, {"keep_dims", true}}).run({in})[0];
  EXPECT_EQ(kept.shape, Shape({2, 3, 1}));
  EXPECT_EQ(kept.layout, Layout("HWC"));
}

TEST(Reductions, NarrowTypesAreRoundedAndClampedOnce) {
  const TestTensor in = TestTensor::of<uint8_t>({3}, {254, 255, 255});
  const auto with = [](DType type) { return ArgMap{{"dtype", static_cast<int64_t>(type)}}; };
  EXPECT_THAT(OpTester("reductions.mean", with(DType::kUInt8)).run({in})[0].values<uint8_t>(), ElementsAre(255));
  EXPECT_THAT(OpTester("reductions.sum", with(DType::kUInt8)).run({in})[0].values<uint8_t>(), ElementsAre(255));
  EXPECT_THAT(OpTester("reductions.sum", with(DType::kFloat32)).run({in})[0].values<float>(), ElementsAre(764));
  EXPECT_THAT(OpTester("reductions.mean_square", with(DType::kUInt64)).run({in})[0].values<uint64_t>(),
              ElementsAre(64855));
  EXPECT_THROW(OpTester("reductions.sum", with(DType::kInt16)).run({in}), Error);
}

TEST(Reductions, OfNothing) {
  const TestTensor in = TestTensor::of<float>({0, 3}, {});
  EXPECT_THAT(OpTester("reductions.sum").run({in})[0].values<float>(), ElementsAre(0));
  EXPECT_TRUE(std::isnan(OpTester("reductions.mean").run({in})[0].values<float>()[0]));
  EXPECT_THAT(OpTester("reductions.min").run({in})[0].values<float>(), ElementsAre(std::numeric_limits<float>::max()));
  EXPECT_THAT(OpTester("reductions.max", {{"axes", 0}}).run({in})[0].values<float>(),
              testing::Each(std::numeric_limits<float>::lowest()));
  EXPECT_TRUE(OpTester("reductions.max", {{"axes", 1}}).run({in})[0].bytes.empty());
}

TEST(Reductions, ExtremesPassOverNaN) {
  const TestTensor in = TestTensor::of<float>({3}, {std::nanf(""), 2, -INFINITY});
  EXPECT_THAT(OpTester("reductions.max").run({in})[0].values<float>(), ElementsAre(2));
  EXPECT_THAT(OpTester("reductions.min").run({in})[0].values<float>(), ElementsAre(-INFINITY));
}

TEST(Reductions, RefuseBadAxesAndTypes) {
  const auto kind_of = [](const ArgMap& args, const TestTensor& in) {
    try {
      OpTester("reductions.sum", args).run({in});
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::kInternal;
  };
  const TestTensor in = counting<float>({2, 3});
  EXPECT_EQ(kind_of({{"axes", 2}}, in), ErrorKind::kIndex);
  EXPECT_EQ(kind_of({{"axes", -3}}, in), ErrorKind::kIndex);
  EXPECT_EQ(kind_of({{"axes", std::vector<int64_t>{0, -2}}}, in), ErrorKind::kValue);
  EXPECT_EQ(kind_of({{"axis_names", "H"}}, in), ErrorKind::kRuntime);
  EXPECT_EQ(kind_of({{"axes", 0}, {"axis_names", "H"}}, in), ErrorKind::kRuntime);
  EXPECT_EQ(kind_of({}, counting<double>({2})), ErrorKind::kRuntime);
}

}  // namespace
}  // namespace headrace
