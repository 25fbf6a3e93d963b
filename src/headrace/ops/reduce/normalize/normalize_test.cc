// normalize against plain loops: computed and given parameters, axes, types, the whole batch, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/op_tester.h"
#include "ops/reduce/axes.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

TestTensor image(const Shape& shape, int key = 0) {
  std::vector<uint8_t> values(static_cast<size_t>(shape.volume()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>((i * 7 + static_cast<size_t>(key)) % 31);
  return TestTensor::of(shape, values);
}

struct Element {
  double value;
  size_t group;  // position among the axes that are kept
};

std::vector<Element> elements_of(const TestTensor& in, AxisSet reduced) {
  const Shape kept = kept_shape(in.shape, reduced);
  std::vector<Element> elements;
  for (uint8_t value : in.values<uint8_t>()) {
    int64_t rest = static_cast<int64_t>(elements.size()), at = 0, size = 1;
    for (int axis = in.shape.ndim() - 1; axis >= 0; --axis) {
      if (kept[axis] != 1) at += rest % in.shape[axis] * size;
      rest /= in.shape[axis];
      size *= kept[axis];
    }
    elements.push_back({static_cast<double>(value), static_cast<size_t>(at)});
  }
  return elements;
}

// (x - mean) / std over all samples together, each group for itself.
std::vector<std::vector<float>> expected(const std::vector<TestTensor>& samples, AxisSet reduced, int ddof = 0) {
  const size_t groups = static_cast<size_t>(kept_shape(samples[0].shape, reduced).volume());
  std::vector<double> sum(groups), squares(groups), count(groups);
  for (const TestTensor& sample : samples) {
    for (const Element& e : elements_of(sample, reduced)) {
      sum[e.group] += e.value;
      ++count[e.group];
    }
  }
  for (const TestTensor& sample : samples) {
    for (const Element& e : elements_of(sample, reduced)) {
      squares[e.group] += std::pow(e.value - sum[e.group] / count[e.group], 2);
    }
  }
  std::vector<std::vector<float>> result;
  for (const TestTensor& sample : samples) {
    std::vector<float>& values = result.emplace_back();
    for (const Element& e : elements_of(sample, reduced)) {
      const double deviation = std::sqrt(squares[e.group] / (count[e.group] - ddof));
      values.push_back(deviation == 0 ? 0 : static_cast<float>((e.value - sum[e.group] / count[e.group]) / deviation));
    }
  }
  return result;
}

TEST(Normalize, ComputesParametersOverAxes) {
  const std::vector<std::vector<int64_t>> axes = {{0, 1}, {2}, {0}, {1}, {0, 2}, {1, 2}, {0, 1, 2}};
  for (const Shape& shape : {Shape{4, 5, 3}, Shape{40, 30, 3}, Shape{3, 20, 40}, Shape{1, 1, 1}, Shape{1, 700, 2}}) {
    for (const auto& list : axes) {
      AxisSet reduced = 0;
      for (int64_t axis : list) reduced |= AxisSet{1} << axis;
      SCOPED_TRACE(to_string(shape) + " " + std::to_string(reduced));
      const TestTensor in = image(shape);
      EXPECT_THAT(OpTester("normalize", {{"axes", list}}).run({in})[0].values<float>(),
                  Pointwise(FloatNear(1e-5f), expected({in}, reduced)[0]));
    }
  }
}

TEST(Normalize, PoolsTheBatch) {
  const std::vector<TestTensor> samples = {image({4, 5, 3}), image({7, 2, 3}, 11), image({1, 1, 3}, 3)};
  for (const ArgMap& args : {ArgMap{{"axes", std::vector<int64_t>{0, 1}}}, ArgMap{}}) {
    ArgMap all = args;
    all["batch"] = true;
    all["ddof"] = 1;
    const auto out = OpTester("normalize", all).run_batch({samples})[0];
    const auto want = expected(samples, args.empty() ? 7 : 3, 1);
    for (size_t i = 0; i < samples.size(); ++i) {
      EXPECT_EQ(out[i].shape, samples[i].shape);
      EXPECT_THAT(out[i].values<float>(), Pointwise(FloatNear(1e-5f), want[i]));
    }
  }
}

TEST(Normalize, GivenNumbers) {
  const TestTensor in = TestTensor::of<float>({3}, {2, 5, 8});
  EXPECT_THAT(OpTester("normalize", {{"mean", 2.0}, {"stddev", 3.0}}).run({in})[0].values<float>(),
              ElementsAre(0, 1, 2));
  EXPECT_THAT(OpTester("normalize", {{"mean", 2.0}, {"stddev", 3.0}, {"scale", 2.0}, {"shift", 1.0}})
                  .run({in})[0]
                  .values<float>(),
              ElementsAre(1, 3, 5));
  EXPECT_THAT(OpTester("normalize", {{"mean", 2.0}, {"stddev", 3.0}, {"epsilon", 16.0}}).run({in})[0].values<float>(),
              Pointwise(FloatNear(1e-6f), std::vector<float>{0, 0.6f, 1.2f}));
  // Only the mean: the deviation is taken around it.
  const float deviation = std::sqrt((4 + 25 + 64) / 3.0f);
  EXPECT_THAT(OpTester("normalize", {{"mean", 0.0}}).run({in})[0].values<float>(),
              Pointwise(FloatNear(1e-6f), std::vector<float>{2 / deviation, 5 / deviation, 8 / deviation}));
  EXPECT_THAT(OpTester("normalize", {{"stddev", 0.0}}).run({in})[0].values<float>()[2], INFINITY);
}

TEST(Normalize, GivenTensors) {
  const TestTensor in = TestTensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5});
  const TestTensor mean = TestTensor::of<float>({1, 3}, {1, 2, 3}), stddev = TestTensor::of<float>({1, 3}, {1, 2, 3});
  EXPECT_THAT(OpTester("normalize", {}, {"mean", "stddev"}).run({in}, {mean, stddev})[0].values<float>(),
              Pointwise(FloatNear(1e-6f), std::vector<float>{-1, -0.5f, -1 / 3.0f, 2, 1, 2 / 3.0f}));
  // The axes follow from the mean's shape: rows.
  const TestTensor rows = TestTensor::of<float>({2, 1}, {1, 2});
  EXPECT_THAT(
      OpTester("normalize", {}, {"mean"}).run({in}, {rows})[0].values<float>(),
      Pointwise(FloatNear(1e-5f), std::vector<float>{-1.2247448f, 0, 1.2247448f, 0.46291f, 0.92582f, 1.38873f}));
  EXPECT_THROW(OpTester("normalize", {}, {"mean", "stddev"}).run({in}, {mean, rows}), Error);
  EXPECT_THROW(OpTester("normalize", {{"axes", 0}}, {"mean"}).run({in}, {rows}), Error);
  EXPECT_THROW(OpTester("normalize", {{"batch", true}}, {"mean"}), Error);
}

TEST(Normalize, NothingThatDeviates) {
  const TestTensor flat = TestTensor::of<float>({2, 2}, {5, 5, 5, 5});
  EXPECT_THAT(OpTester("normalize", {{"shift", 3.0}}).run({flat})[0].values<float>(), ElementsAre(3, 3, 3, 3));
  EXPECT_THAT(OpTester("normalize", {{"ddof", 4}}).run({flat})[0].values<float>(), ElementsAre(0, 0, 0, 0));
  EXPECT_TRUE(OpTester("normalize").run({TestTensor::of<float>({0, 3}, {})})[0].bytes.empty());
}

TEST(Normalize, ConvertsToIntegers) {
  const TestTensor in = TestTensor::of<int32_t>({4}, {-100, 0, 3, 100});
  const ArgMap args{{"mean", 0.0}, {"stddev", 2.0}, {"scale", 6.0}, {"dtype", static_cast<int64_t>(DType::kInt8)}};
  EXPECT_THAT(OpTester("normalize", args).run({in})[0].values<int8_t>(), ElementsAre(-128, 0, 9, 127));
  EXPECT_THROW(OpTester("normalize", {{"dtype", static_cast<int64_t>(DType::kFloat64)}}), Error);
  EXPECT_THROW(OpTester("normalize").run({TestTensor::of<double>({1}, {1})}), Error);
}

TEST(Normalize, RefusesBadAxes) {
  const TestTensor in = image({2, 3});
  EXPECT_THROW(OpTester("normalize", {{"axes", 2}}).run({in}), Error);
  EXPECT_THROW(OpTester("normalize", {{"axes", std::vector<int64_t>{}}}).run({in}), Error);
  EXPECT_THROW(OpTester("normalize", {{"axes", 0}, {"mean", 1.0}, {"stddev", 1.0}}), Error);
  EXPECT_THROW(OpTester("normalize", {{"axes", 0}, {"batch", true}}).run_batch({{in, image({2, 4})}}), Error);
}

}  // namespace
}  // namespace headrace
