// Batch: dense, ragged, mixed kinds, views, holding.
#include "core/batch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

namespace headrace {
namespace {

Sample described(DType dtype, Shape shape, Layout layout = {}) {
  Sample sample;
  sample.dtype = dtype;
  sample.shape = shape;
  sample.layout = layout;
  return sample;
}

TEST(Batch, EqualShapesLieOneBehindTheOther) {
  auto batch = make_ref<Batch>(make_ref<HostPool>(), 3);
  for (int slot : {2, 0, 1}) std::memset(batch->claim(slot, described(DType::kUInt8, {5, 7})), slot, 35);
  ASSERT_TRUE(batch->is_dense());
  const auto* bytes = static_cast<const uint8_t*>(batch->data());
  for (int i = 0; i < 3 * 35; ++i) EXPECT_EQ(bytes[i], i / 35);
  EXPECT_EQ(batch->dense().get(), batch.get());
}

TEST(Batch, AnotherShapeMakesItRaggedAndKeepsWhatIsThere) {
  auto batch = make_ref<Batch>(make_ref<HostPool>(), 3);
  for (int slot = 0; slot < 3; ++slot) {
    const Shape shape{slot == 1 ? 9 : 4};
    std::memset(batch->claim(slot, described(DType::kUInt8, shape)), slot + 1, static_cast<size_t>(shape.volume()));
  }
  EXPECT_FALSE(batch->is_dense());
  EXPECT_FALSE(batch->is_uniform());
  for (int slot = 0; slot < 3; ++slot) {
    const Sample& sample = (*batch)[slot];
    for (int64_t i = 0; i < sample.volume(); ++i) EXPECT_EQ(sample.as<uint8_t>()[i], slot + 1);
  }
  EXPECT_THROW(batch->dense(), Error);
}

TEST(Batch, RaggedExpectationOnUniformShapesStillGivesADenseCopy) {
  auto batch = make_ref<Batch>(make_ref<HostPool>(), 3, MemoryUse::kSlots, /*expect_ragged=*/true);
  for (int slot = 0; slot < 3; ++slot) *static_cast<int32_t*>(batch->claim(slot, described(DType::kInt32, {1}))) = slot;
  auto dense = batch->dense();
  ASSERT_TRUE(dense->is_dense());
  for (int slot = 0; slot < 3; ++slot) EXPECT_EQ(static_cast<int32_t*>(dense->data())[slot], slot);
}

TEST(Batch, RefusesMixedKinds) {
  auto batch = make_ref<Batch>(make_ref<HostPool>(), 4);
  batch->claim(0, described(DType::kUInt8, {5, 7}, "HW"));
  EXPECT_THROW(batch->claim(1, described(DType::kInt8, {5, 7}, "HW")), Error);
  EXPECT_THROW(batch->claim(1, described(DType::kUInt8, {5}, "H")), Error);
  EXPECT_THROW(batch->claim(1, described(DType::kUInt8, {5, 7}, "WH")), Error);
  EXPECT_FALSE(batch->has(1));
}

TEST(Batch, EmptyBatchesAndEmptySamples) {
  auto none = make_ref<Batch>(make_ref<HostPool>(), 0);
  EXPECT_TRUE(none->is_dense());
  EXPECT_EQ(none->data(), nullptr);
  auto empty = make_ref<Batch>(make_ref<HostPool>(), 2);
  empty->claim(0, described(DType::kFloat32, {0, 3}));
  empty->claim(1, described(DType::kFloat32, {0, 3}));
  EXPECT_TRUE(empty->is_dense());
}

TEST(Batch, ViewsKeepTheirOwnerAlive) {
  auto owner = std::make_shared<std::vector<int64_t>>(2, 5);
  std::weak_ptr<std::vector<int64_t>> watch = owner;
  auto batch = make_ref<Batch>(make_ref<HostPool>(), 2);
  for (int slot = 0; slot < 2; ++slot) {
    Sample sample = described(DType::kInt64, {});
    sample.data = owner->data() + slot;
    batch->set_view(slot, sample, owner);
  }
  owner.reset();
  ASSERT_FALSE(watch.expired());
  EXPECT_TRUE(batch->is_dense());
  EXPECT_EQ(*(*batch)[1].as<int64_t>(), 5);
  auto other = batch->with_samples({(*batch)[1]});
  batch.reset();
  EXPECT_FALSE(watch.expired());
  other.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(Batch, ManyThreadsClaimAtOnce) {
  for (int round = 0; round < 50; ++round) {
    auto batch = make_ref<Batch>(make_ref<HostPool>(), 64);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int slot = t; slot < 64; slot += 4) {
          const Shape shape{slot % 7 == 0 && round % 2 ? 3 : 2};
          auto* data = static_cast<int32_t*>(batch->claim(slot, described(DType::kInt32, shape)));
          for (int64_t i = 0; i < shape.volume(); ++i) data[i] = slot;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(batch->is_dense(), round % 2 == 0);
    for (int slot = 0; slot < 64; ++slot) EXPECT_EQ((*batch)[slot].as<int32_t>()[1], slot);
  }
}

}  // namespace
}  // namespace headrace
