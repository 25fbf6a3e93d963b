// random_crop_generator: area, ratio and place of the windows; the fallback; errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_tester.h"
#include "ops/random/distribution_testing.h"

namespace headrace {
namespace {

using testing::ElementsAre;
ArgValue floats(std::vector<double> values) { return values; }

struct Window {
  std::vector<int32_t> anchor, shape;
};

Window draw(OpTester& op, int64_t height, int64_t width, int64_t position = 0) {
  const std::vector<TestTensor> out = op.run({TestTensor::of<int64_t>({3}, {height, width, 3})}, {}, {0, position, 0});
  return {out[0].values<int32_t>(), out[1].values<int32_t>()};
}

// In an image so large that every draw of these ranges fits and rounding doesn't matter.
TEST(RandomCropGenerator, AreaIsUniformAndRatioLogUniform) {
  OpTester op("random_crop_generator",
              {{"random_area", floats({0.1, 0.4})}, {"random_aspect_ratio", floats({0.5, 2})}});
  constexpr double kSize = 20000;
  std::vector<double> areas, log_ratios, places;
  for (int i = 0; i < 20000; ++i) {
    const Window w = draw(op, kSize, kSize, i);
    areas.push_back(w.shape[0] / kSize * w.shape[1] / kSize);
    log_ratios.push_back(std::log2(static_cast<double>(w.shape[1]) / w.shape[0]));
    places.push_back(w.anchor[0] / (kSize - w.shape[0]));
    places.push_back(w.anchor[1] / (kSize - w.shape[1]));
  }
  EXPECT_LT(ks_distance(areas, [](double x) { return (x - 0.1) / 0.3; }), 2);
  EXPECT_LT(ks_distance(log_ratios, [](double x) { return (x + 1) / 2; }), 2);
  EXPECT_LT(ks_distance(places, [](double x) { return x; }), 2);
}

TEST(RandomCropGenerator, StaysInTheImage) {
  OpTester op("random_crop_generator");
  for (const auto& [height, width] : {std::pair{100, 200}, {1, 1}, {1, 7}, {3, 2}, {10, 1000}, {224, 224}}) {
    for (int i = 0; i < 300; ++i) {
      const Window w = draw(op, height, width, i);
      ASSERT_GE(w.shape[0], 1);
      ASSERT_GE(w.shape[1], 1);
      ASSERT_GE(w.anchor[0], 0);
      ASSERT_GE(w.anchor[1], 0);
      ASSERT_LE(w.anchor[0] + w.shape[0], height);
      ASSERT_LE(w.anchor[1] + w.shape[1], width);
    }
  }
}

TEST(RandomCropGenerator, BothEndsOfThePlaceOccur) {
  OpTester op("random_crop_generator", {{"random_area", floats({0.25})}, {"random_aspect_ratio", floats({1})}});
  std::vector<double> counts(3);
  for (int i = 0; i < 3000; ++i) {
    const Window w = draw(op, 4, 4, i);
    ASSERT_THAT(w.shape, ElementsAre(2, 2));
    ++counts.at(w.anchor[0]);
  }
  EXPECT_LT(chi_square_excess(counts, {1000, 1000, 1000}), 5);
}

TEST(RandomCropGenerator, FallsBackToTheLargestWindowOfAnAllowedRatio) {
  OpTester op("random_crop_generator", {{"num_attempts", 0}});
  EXPECT_THAT(draw(op, 10, 1000).shape, ElementsAre(10, 13));
  EXPECT_THAT(draw(op, 1000, 10).shape, ElementsAre(13, 10));
  EXPECT_THAT(draw(op, 100, 120).shape, ElementsAre(100, 120));
  EXPECT_THAT(draw(op, 0, 5).shape, ElementsAre(0, 0));
  OpTester too_large("random_crop_generator", {{"random_area", floats({2, 2})}});
  EXPECT_THAT(draw(too_large, 100, 120).shape, ElementsAre(100, 120));
  EXPECT_THAT(draw(too_large, 100, 120).anchor, ElementsAre(0, 0));
}

TEST(RandomCropGenerator, RefusesWhatCannotBe) {
  EXPECT_THROW(OpTester("random_crop_generator", {{"random_area", floats({0.5, 0.2})}}), Error);
  EXPECT_THROW(OpTester("random_crop_generator", {{"random_area", floats({0.1, 0.2, 0.3})}}), Error);
  EXPECT_THROW(OpTester("random_crop_generator", {{"random_aspect_ratio", floats({-1, 1})}}), Error);
  OpTester op("random_crop_generator");
  EXPECT_THROW(op.run({TestTensor::of<float>({2}, {10, 10})}), Error);
  EXPECT_THROW(op.run({TestTensor::of<int64_t>({1}, {10})}), Error);
  EXPECT_THROW(op.run({TestTensor::of<int64_t>({1, 2}, {10, 10})}), Error);
}

}  // namespace
}  // namespace headrace
