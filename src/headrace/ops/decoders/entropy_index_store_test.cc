// Tests of the store of entropy indexes.
#include "ops/decoders/entropy_index_store.h"

#include <gtest/gtest.h>

#include <thread>

namespace headrace {
namespace {

Fingerprint key_of(int number) { return fingerprint_of({reinterpret_cast<const uint8_t*>(&number), sizeof(number)}); }

// Points [begin, end) of a file of `size` points; those of file `number` are told by their bytes.
EntropyIndex found(const EntropyIndexStore& store, int number, uint32_t begin, uint32_t end, int size) {
  EntropyIndex index{.known = store.find(key_of(number)), .found = {}, .size = size};
  for (uint32_t i = begin; i < end; ++i) index.found.push_back({.byte = static_cast<uint32_t>(number) * 1000 + i});
  return index;
}

void expect_points(const EntropyIndexStore& store, int number, size_t count) {
  const auto points = store.find(key_of(number));
  ASSERT_EQ(points.size(), count) << number;
  for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(points[i].byte, static_cast<uint32_t>(number) * 1000 + i) << number;
}

TEST(EntropyIndexStore, KeepsPointsByFile) {
  GroupState group(make_ref<HostPool>());
  EntropyIndexStore store(group, 1 << 20);
  EXPECT_TRUE(store.find(key_of(1)).empty());
  for (int number = 1; number <= 50; ++number) store.add(key_of(number), found(store, number, 0, 10, 30));
  for (int number = 1; number <= 50; number += 2) store.add(key_of(number), found(store, number, 10, 30, 30));
  for (int number = 1; number <= 50; ++number) expect_points(store, number, number % 2 ? 30 : 10);
  EXPECT_EQ(store.images(), 50);
  EXPECT_EQ(store.bytes(), 50 * static_cast<int64_t>(30 * sizeof(EntropyPoint) + 64));
  EXPECT_GE(group.pool()->bytes_in_use(MemoryUse::kCaches), 50 * 30 * sizeof(EntropyPoint));
  store.close();
  EXPECT_EQ(group.pool()->bytes_in_use(), 0u);
}

TEST(EntropyIndexStore, TheSlowerOfTwoThreadsChangesNothing) {
  GroupState group(make_ref<HostPool>());
  EntropyIndexStore store(group, 1 << 20);
  const EntropyIndex first = found(store, 7, 0, 10, 30), second = found(store, 7, 0, 20, 30);
  store.add(key_of(7), first);
  store.add(key_of(7), second);
  expect_points(store, 7, 10);
}

TEST(EntropyIndexStore, TakesNoMoreThanTheLimits) {
  for (const bool by_memory_limit : {false, true}) {
    GroupState group(make_ref<HostPool>(by_memory_limit ? 600 << 10 : 0));
    EntropyIndexStore store(group, by_memory_limit ? 1 << 30 : 100 << 10);
    for (int number = 0; number < 1000; ++number) store.add(key_of(number), found(store, number, 0, 100, 100));
    EXPECT_GT(store.images(), 10);
    EXPECT_LT(store.images(), 900);
    EXPECT_LE(store.bytes(), by_memory_limit ? 600 << 10 : 100 << 10);
    for (int number = 0; number < store.images(); ++number) expect_points(store, number, 100);
    expect_points(store, 999, 0);
  }
}

TEST(EntropyIndexStore, ThreadsReadWhileOthersAdd) {
  GroupState group(make_ref<HostPool>());
  EntropyIndexStore store(group, 64 << 20);
  const auto work = [&] {
    for (uint32_t i = 0; i < 40; ++i) {
      for (int number = 0; number < 100; ++number) {
        const auto points = store.find(key_of(number));
        for (size_t k = 0; k < points.size(); ++k) {
          ASSERT_EQ(points[k].byte, static_cast<uint32_t>(number) * 1000 + k);
        }
        const uint32_t next = static_cast<uint32_t>(number) * 1000 + static_cast<uint32_t>(points.size());
        if (points.size() < 40) store.add(key_of(number), {.known = points, .found = {{.byte = next}}, .size = 40});
      }
    }
  };
  std::thread other(work);
  work();
  other.join();
  for (int number = 0; number < 100; ++number) expect_points(store, number, 40);
}

}  // namespace
}  // namespace headrace
