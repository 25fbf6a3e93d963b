// permute_batch: order, repeated samples, bad indices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_tester.h"

namespace headrace {
namespace {

using Ints = std::vector<int64_t>;

std::vector<TestTensor> batch() {
  return {TestTensor::of<int32_t>({1}, {0}), TestTensor::of<int32_t>({2}, {1, 1}),
          TestTensor::of<int32_t>({3}, {2, 2, 2})};
}

TEST(PermuteBatch, ReordersByListAndByTensors) {
  const auto by_list = OpTester("permute_batch", {{"indices", Ints{2, 0, 0}}}).run_batch({batch()})[0];
  const auto index = [](int i) { return TestTensor::of<int32_t>({}, {i}); };
  const auto by_tensor =
      OpTester("permute_batch", {}, {"indices"}).run_batch({batch()}, {{index(2), index(0), index(0)}})[0];
  for (const auto& out : {by_list, by_tensor}) {
    ASSERT_EQ(out.size(), 3u);
    EXPECT_EQ(out[0].bytes, batch()[2].bytes);
    EXPECT_EQ(out[1].bytes, batch()[0].bytes);
    EXPECT_EQ(out[2].bytes, batch()[0].bytes);
  }
}

TEST(PermuteBatch, RefusesBadIndices) {
  for (const Ints& indices : {Ints{0, 1}, Ints{0, 1, 3}, Ints{0, 1, -1}, Ints{0, 1, 2, 0}}) {
    EXPECT_THROW(OpTester("permute_batch", {{"indices", indices}}).run_batch({batch()}), Error);
  }
}

}  // namespace
}  // namespace headrace
