// Strided copy against a plain loop over indices.
#include "kernels/cpu/strided_copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace headrace {
namespace {

// What the header says, one element at a time.
template <typename T> std::vector<T> plain_copy(const T* in, const std::vector<int64_t>& strides, const Shape& shape) {
  std::vector<T> out;
  for (int64_t flat = 0; flat < shape.volume(); ++flat) {
    int64_t rest = flat, offset = 0;
    for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
      offset += rest % shape[axis] * strides[static_cast<size_t>(axis)];
      rest /= shape[axis];
    }
    out.push_back(in[offset]);
  }
  return out;
}

template <typename T>
void compare(const std::vector<T>& memory, int64_t first, const std::vector<int64_t>& strides, const Shape& shape) {
  std::vector<T> out(static_cast<size_t>(shape.volume()) + 1, T(77));
  strided_copy(memory.data() + first, strides, out.data(), shape, sizeof(T));
  EXPECT_EQ(out.back(), T(77)) << "wrote behind the end, shape " << to_string(shape);
  out.pop_back();
  EXPECT_EQ(out, plain_copy(memory.data() + first, strides, shape)) << "shape " << to_string(shape);
}

template <typename T> class StridedCopy : public testing::Test {};
using Types = testing::Types<uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(StridedCopy, Types);

TYPED_TEST(StridedCopy, EveryPermutationOfOddShapes) {
  for (const Shape& in :
       {Shape{}, Shape{5}, Shape{3, 130}, Shape{7, 5, 3}, Shape{1, 67, 3}, Shape{4, 1, 9, 3}, Shape{2, 3, 2, 3, 2}}) {
    std::vector<TypeParam> memory(static_cast<size_t>(in.volume()));
    std::iota(memory.begin(), memory.end(), TypeParam(1));
    std::vector<int64_t> in_strides(static_cast<size_t>(in.ndim()), 1);
    for (int i = in.ndim() - 2; i >= 0; --i)
      in_strides[static_cast<size_t>(i)] = in_strides[static_cast<size_t>(i) + 1] * in[i + 1];
    std::vector<int> perm(static_cast<size_t>(in.ndim()));
    std::iota(perm.begin(), perm.end(), 0);
    do {
      Shape shape;
      std::vector<int64_t> strides;
      for (int axis : perm) {
        shape.push_back(in[axis]);
        strides.push_back(in_strides[static_cast<size_t>(axis)]);
      }
      compare(memory, 0, strides, shape);
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
}

TYPED_TEST(StridedCopy, AnyStridesAlsoNegativeAndZero) {
  std::mt19937 random(7);
  std::vector<TypeParam> memory(20000);
  std::iota(memory.begin(), memory.end(), TypeParam(1));
  for (int round = 0; round < 200; ++round) {
    Shape shape;
    std::vector<int64_t> strides;
    int64_t lowest = 0;
    for (int i = static_cast<int>(random() % 5); i > 0; --i) {
      shape.push_back(static_cast<int64_t>(random() % 8));
      strides.push_back(static_cast<int64_t>(random() % 41) - 20);
      lowest += std::min<int64_t>(0, strides.back() * std::max<int64_t>(0, shape[shape.ndim() - 1] - 1));
    }
    compare(memory, -lowest, strides, shape);
  }
}

}  // namespace
}  // namespace headrace
