// Permutation: bijective for every size, all orders of small sizes equally frequent, no visible pattern in large ones.
#include "core/permutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

namespace headrace {
namespace {

std::vector<int64_t> order_of(int64_t size, int64_t name) {
  const Permutation permutation(size, RandomStream(7, 0, name));
  std::vector<int64_t> order(size);
  for (int64_t i = 0; i < size; ++i) order[i] = permutation(i);
  return order;
}

TEST(Permutation, HoldsEachElementOnce) {
  std::vector<int64_t> sizes = {1000, 1023, 1024, 1025, 4096, 65535, 65536, 65537, 300001};
  for (int64_t size = 1; size <= 300; ++size) sizes.push_back(size);
  for (const int64_t size : sizes) {
    std::vector<int> seen(size);
    for (const int64_t element : order_of(size, size)) {
      ASSERT_GE(element, 0);
      ASSERT_LT(element, size);
      ASSERT_EQ(seen[element]++, 0) << "size " << size << " element " << element;
    }
  }
}

// Chi-square over all size! orders; the bound is the mean plus five standard deviations.
TEST(Permutation, MakesAllOrdersOfSmallSizesEquallyFrequent) {
  for (const int64_t size : {2, 3, 4, 5, 6}) {
    double orders = 1;
    for (int64_t i = 2; i <= size; ++i) orders *= static_cast<double>(i);
    const int draws = static_cast<int>(orders) * 100;
    std::map<std::vector<int64_t>, int> counts;
    for (int draw = 0; draw < draws; ++draw) ++counts[order_of(size, draw)];
    double chi_square = (orders - static_cast<double>(counts.size())) * 100;
    for (const auto& [order, count] : counts) chi_square += (count - 100.0) * (count - 100.0) / 100.0;
    EXPECT_LT(chi_square, orders - 1 + 5 * std::sqrt(2 * (orders - 1))) << "size " << size;
  }
}

// Neighbours in the order: pairs of coarse classes of (element at i, element at i + 1) are equally frequent.
TEST(Permutation, NeighboursAreIndependent) {
  for (const int64_t size : {60000, 1281167}) {
    const std::vector<int64_t> order = order_of(size, 1);
    constexpr int kClasses = 16;
    std::vector<double> pairs(kClasses * kClasses);
    for (int64_t i = 0; i + 1 < size; ++i) {
      ++pairs[order[i] * kClasses / size * kClasses + order[i + 1] * kClasses / size];
    }
    const double expected = static_cast<double>(size - 1) / (kClasses * kClasses);
    double chi_square = 0;
    for (const double count : pairs) chi_square += (count - expected) * (count - expected) / expected;
    EXPECT_LT(chi_square, 255 + 5 * std::sqrt(2.0 * 255)) << "size " << size;
  }
}

TEST(Permutation, DependsOnTheStream) { EXPECT_NE(order_of(100, 1), order_of(100, 2)); }

}  // namespace
}  // namespace headrace
