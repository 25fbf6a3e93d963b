// batch_permutation: permutations, derangements and repetitions, equally often; named by the first sample.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ops/op_tester.h"
#include "ops/random/distribution_testing.h"

namespace headrace {
namespace {

std::vector<int32_t> draw(OpTester& op, int size, int64_t position) {
  BatchContext ctx;
  ctx.pool = make_ref<HostPool>();
  ctx.rows = make_ref<BatchRows>();
  for (int i = 0; i < size; ++i) ctx.rows->ids.push_back({0, position + i, 0});
  ctx.outputs.resize(1);
  dynamic_cast<BatchOperator&>(op.op()).run(ctx);
  std::vector<int32_t> order;
  for (int i = 0; i < ctx.outputs[0]->size(); ++i) order.push_back(*(*ctx.outputs[0])[i].as<int32_t>());
  return order;
}

// Whether `order` is what the arguments allow.
bool allowed(const std::vector<int32_t>& order, bool repetitions, bool no_fixed_points) {
  const std::set<int32_t> different(order.begin(), order.end());
  if (!repetitions && different.size() != order.size()) return false;
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] < 0 || order[i] >= static_cast<int32_t>(order.size())) return false;
    if (no_fixed_points && order[i] == static_cast<int32_t>(i)) return false;
  }
  return true;
}

// Counts all n^n lists: those that are allowed come equally often, the others never.
TEST(BatchPermutation, AllAllowedOrdersEquallyOften) {
  constexpr int kSize = 4, kLists = 256, kDraws = 20000;
  for (const bool repetitions : {false, true}) {
    for (const bool no_fixed_points : {false, true}) {
      OpTester op("batch_permutation", {{"allow_repetitions", repetitions}, {"no_fixed_points", no_fixed_points}});
      std::vector<double> counts(kLists), expected(kLists);
      double possible = 0;
      for (int code = 0; code < kLists; ++code) {
        const std::vector<int32_t> order = {code & 3, (code >> 2) & 3, (code >> 4) & 3, code >> 6};
        possible += expected[code] = allowed(order, repetitions, no_fixed_points);
      }
      for (double& e : expected) e *= kDraws / possible;
      for (int i = 0; i < kDraws; ++i) {
        const std::vector<int32_t> order = draw(op, kSize, i * kSize);
        ASSERT_EQ(order.size(), 4u);
        ++counts.at(order[0] | order[1] << 2 | order[2] << 4 | order[3] << 6);
      }
      EXPECT_LT(chi_square_excess(counts, expected), 5) << repetitions << no_fixed_points;
    }
  }
}

TEST(BatchPermutation, SmallBatches) {
  OpTester op("batch_permutation", {{"no_fixed_points", true}});
  EXPECT_TRUE(draw(op, 0, 0).empty());
  EXPECT_EQ(draw(op, 1, 0), std::vector<int32_t>{0});
  EXPECT_EQ(draw(op, 2, 0), (std::vector<int32_t>{1, 0}));
}

}  // namespace
}  // namespace headrace
