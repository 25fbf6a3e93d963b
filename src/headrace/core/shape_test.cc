// Shape: edits against std::vector, printing against Python's tuples, volumes at the limits of 64 bits.
#include "core/shape.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/layout.h"

namespace headrace {
namespace {

std::vector<int64_t> to_vector(const Shape& shape) { return {shape.begin(), shape.end()}; }

TEST(Shape, CopiesHaveAllAxes) {
  for (int ndim = 0; ndim <= Shape::kMaxDims; ++ndim) {
    std::vector<int64_t> extents;
    for (int i = 0; i < ndim; ++i) extents.push_back(100 + i);
    Shape shape{std::span<const int64_t>(extents)};
    const Shape copy = shape;
    Shape longer(std::vector<int64_t>(Shape::kMaxDims, 7)), shorter{7};
    longer = shape;
    shorter = shape;
    const Shape& itself = shape;
    shape = itself;
    for (const Shape& s : {shape, copy, longer, shorter}) EXPECT_EQ(to_vector(s), extents);
  }
}

TEST(Shape, EditsLikeAVector) {
  for (int axis = 0; axis <= 3; ++axis) {
    Shape shape{2, 3, 5};
    std::vector<int64_t> expected{2, 3, 5};
    shape.insert(axis, 7);
    expected.insert(expected.begin() + axis, 7);
    EXPECT_EQ(to_vector(shape), expected);
    const int victim = (axis + 1) % 4;
    shape.erase(victim);
    expected.erase(expected.begin() + victim);
    EXPECT_EQ(to_vector(shape), expected);
  }
}

TEST(Shape, ComparesExtentsAndLength) {
  EXPECT_EQ(Shape({1, 2}), Shape({1, 2}));
  EXPECT_FALSE(Shape({1, 2}) == Shape({2, 1}));
  EXPECT_FALSE(Shape({1, 2}) == Shape({1, 2, 1}));
  EXPECT_EQ(Shape{}, Shape{});
}

TEST(Shape, PrintsLikeAPythonTuple) {
  EXPECT_EQ(to_string(Shape{}), "()");
  EXPECT_EQ(to_string(Shape{4}), "(4,)");
  EXPECT_EQ(to_string(Shape{28, 28, 1}), "(28, 28, 1)");
  EXPECT_EQ(fmt::format("shape {}, layout {}", Shape{3, 2}, Layout("HWC")), "shape (3, 2), layout HWC");
}

TEST(Shape, RefusesMoreAxesThanItHolds) {
  Shape shape(std::vector<int64_t>(Shape::kMaxDims, 1));
  EXPECT_THROW(shape.push_back(1), Error);
  EXPECT_THROW(Shape(std::vector<int64_t>(Shape::kMaxDims + 1, 1)), Error);
}

TEST(Shape, CheckedVolume) {
  const int64_t big = int64_t{1} << 31;
  EXPECT_EQ(checked_volume({28, 28, 1}, 4, "[test]"), 784);
  EXPECT_EQ(checked_volume({}, 8, "[test]"), 1);
  EXPECT_EQ(checked_volume({big, big, 0}, 8, "[test]"), 0);
  EXPECT_EQ(checked_volume({big, big}, 1, "[test]"), big * big);
  EXPECT_THROW(checked_volume({big, big}, 2, "[test]"), Error);
  EXPECT_THROW(checked_volume({std::numeric_limits<int64_t>::max(), 2}, 1, "[test]"), Error);
  EXPECT_THROW(checked_volume({3, -1}, 1, "[test]"), Error);
}

}  // namespace
}  // namespace headrace
