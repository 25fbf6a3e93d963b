// Sizes and regions of resizing, against values worked out by hand.
#include "ops/geometry/resize_geometry.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/error.h"

namespace headrace {
namespace {

ResizeRequest whole(int64_t extent, double size, double max_size = 0) {
  return {.extent = extent, .roi_end = static_cast<double>(extent), .size = size, .max_size = max_size};
}

struct SizeCase {
  ResizeMode mode;
  ResizeRequest height, width;
  double wanted_height, wanted_width;
};

TEST(ResizeGeometry, CompletesSizes) {
  const auto d = ResizeMode::kDefault, s = ResizeMode::kStretch, l = ResizeMode::kNotLarger,
             g = ResizeMode::kNotSmaller;
  const SizeCase cases[] = {
      {d, whole(12, 0), whole(20, 10), 6, 10},
      {d, whole(12, 0), whole(20, -10), 6, -10},
      {d, whole(12, 0), whole(20, 0), 12, 20},
      {d, whole(12, 60, 30), whole(20, 70, 30), 30, 30},
      {d, whole(12, -60, 30), whole(20, 0, 40), -30, 40},
      {d, whole(0, 0), whole(20, 10), 0.0005, 10},
      {s, whole(12, 6), whole(20, 0), 6, 20},
      {s, whole(12, 6), whole(20, 0, 7), 6, 7},
      {l, whole(12, 6), whole(20, 7), 4.2, 7},
      {l, whole(12, -6), whole(20, 7), -4.2, 7},
      {l, whole(12, 6), whole(20, 0), 6, 10},
      {g, whole(12, 6), whole(20, 7), 6, 10},
      {g, whole(12, 6, 3), whole(20, 7, 0), 3, 5},
      {g, whole(12, 60, 30), whole(20, 70, 100), 30, 50},
      {g, whole(0, 60), whole(20, 40), 0.002, 40},
      {d, {.extent = 12, .roi_start = 1, .roi_end = 4}, whole(20, 10), 1.5, 10},
      {d, {.extent = 12, .roi_start = 4, .roi_end = 1}, whole(20, 10), -1.5, 10},
      {l, {.extent = 12, .roi_start = 4, .roi_end = 1}, whole(20, 10), 1.5, 10},
      {l, {.extent = 12, .roi_start = 4, .roi_end = 1}, whole(20, 0), -3, 20},
  };
  for (const SizeCase& c : cases) {
    std::vector<ResizeRequest> axes = {c.height, c.width};
    complete_sizes(c.mode, axes);
    EXPECT_NEAR(axes[0].size, c.wanted_height, 1e-9) << &c - cases;
    EXPECT_NEAR(axes[1].size, c.wanted_width, 1e-9) << &c - cases;
  }
}

TEST(ResizeGeometry, RoundsSizes) {
  const auto extent = [](double size, SizeRounding rounding) { return place_axis(whole(9, size), rounding, true).out; };
  EXPECT_EQ(extent(2.5, SizeRounding::kRound), 3);
  EXPECT_EQ(extent(-2.5, SizeRounding::kRound), 3);
  EXPECT_EQ(extent(2.49, SizeRounding::kRound), 2);
  EXPECT_EQ(extent(0.01, SizeRounding::kRound), 1);
  EXPECT_EQ(extent(2.99, SizeRounding::kTruncate), 2);
  EXPECT_EQ(extent(2.01, SizeRounding::kCeil), 3);
  EXPECT_EQ(extent(30 * 0.1, SizeRounding::kCeil), 3);  // 3.0000000000000004
  EXPECT_EQ(extent(static_cast<double>(0.7f) * 5, SizeRounding::kRound), 4);
  EXPECT_EQ(place_axis(whole(0, 5), SizeRounding::kRound, true).out, 0);
  EXPECT_THROW(place_axis(whole(9, 3e9), SizeRounding::kRound, true), Error);
}

TEST(ResizeGeometry, PlacesRegions) {
  EXPECT_TRUE(place_axis(whole(7, 7), SizeRounding::kRound, true).is_identity());
  EXPECT_TRUE(place_axis(whole(7, 3 * (7.0 / 3)), SizeRounding::kRound, true).is_identity());

  ResampleAxis axis = place_axis(whole(10, 2.5), SizeRounding::kRound, true);  // 3 of 4 each, about 5
  EXPECT_DOUBLE_EQ(axis.step, 4);
  EXPECT_DOUBLE_EQ(axis.origin, -1);
  axis = place_axis(whole(10, 2.5), SizeRounding::kRound, false);
  EXPECT_DOUBLE_EQ(axis.step, 10.0 / 3);
  EXPECT_DOUBLE_EQ(axis.origin, 0);
  axis = place_axis(whole(10, -2.5), SizeRounding::kRound, true);
  EXPECT_DOUBLE_EQ(axis.step, -4);
  EXPECT_DOUBLE_EQ(axis.origin, 11);

  ResizeRequest request{.extent = 10, .roi_start = 8, .roi_end = 2, .size = 2.5, .alignment = 0};
  axis = place_axis(request, SizeRounding::kRound, true);
  EXPECT_DOUBLE_EQ(axis.step, -2.4);
  EXPECT_DOUBLE_EQ(axis.origin, 8);

  request = {.extent = 10, .roi_start = 4, .roi_end = 4, .size = 2};
  axis = place_axis(request, SizeRounding::kRound, true);
  EXPECT_DOUBLE_EQ(axis.origin, 3.9995);
  EXPECT_DOUBLE_EQ(axis.step, 0.0005);
}

TEST(ResizeGeometry, CropsAndMirrors) {
  const ResampleAxis axis = place_axis(whole(10, 5), SizeRounding::kRound, true);
  const ResampleAxis cropped = crop_axis(axis, 2, 4);
  EXPECT_EQ(cropped.out, 4);
  EXPECT_DOUBLE_EQ(cropped.origin, 4);
  const ResampleAxis mirrored = mirror_axis(cropped);
  EXPECT_DOUBLE_EQ(mirrored.origin, 12);
  EXPECT_DOUBLE_EQ(mirrored.step, -2);
}

}  // namespace
}  // namespace headrace
