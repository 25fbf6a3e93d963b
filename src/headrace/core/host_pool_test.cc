// HostPool, Arena: alignment, reuse, limits, life beyond the pool's closing.
#include "core/host_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "core/arena.h"
#include "core/error.h"

namespace headrace {
namespace {

TEST(HostPool, BuffersAreAlignedAndLargeEnough) {
  auto pool = make_ref<HostPool>();
  for (size_t bytes :
       {0, 1, 63, 64, 65, 127, 128, 129, 191, 193, 255, 256, 257, 319, 321, 1000, 4097, 1 << 20, 3000001}) {
    const auto buffer = pool->allocate(bytes, MemoryUse::kSlots);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % HostPool::kAlignment, 0u) << bytes;
    EXPECT_GE(buffer->size(), bytes);
    EXPECT_LE(buffer->size(), std::max<size_t>(64, bytes + bytes / 4 + 64)) << bytes;
    std::memset(buffer->data(), 0xab, buffer->size());
  }
  EXPECT_EQ(pool->bytes_in_use(), 0u);
}

TEST(HostPool, FreedBuffersComeBackWithoutTheSystem) {
  auto pool = make_ref<HostPool>();
  pool->allocate(5000, MemoryUse::kSlots);
  const int64_t before = pool->system_allocations();
  for (int i = 0; i < 100; ++i) pool->allocate(4900 + i, MemoryUse::kSlots);
  EXPECT_EQ(pool->system_allocations(), before);
}

TEST(HostPool, TheLimitIsAnErrorThatNamesTheParts) {
  auto pool = make_ref<HostPool>(10000);
  const auto held = pool->allocate(6000, MemoryUse::kArenas);
  try {
    pool->allocate(6000, MemoryUse::kSlots);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kMemory);
    EXPECT_NE(error.message().find("scratch 6"), std::string::npos) << error.message();
  }
  EXPECT_NO_THROW(pool->allocate(2000, MemoryUse::kSlots));
}

TEST(HostPool, IdleBlocksMakeRoomWithinTheLimit) {
  auto pool = make_ref<HostPool>(10240);
  {
    std::vector<Ref<Buffer>> small;
    for (int i = 0; i < 100; ++i) small.push_back(pool->allocate(64, MemoryUse::kSlots));
  }
  EXPECT_EQ(pool->bytes_idle(), 6400u);
  const auto large = pool->allocate(8192, MemoryUse::kSlots);
  EXPECT_LE(pool->bytes_in_use() + pool->bytes_idle(), pool->limit());
}

TEST(HostPool, ThreadsTogetherStayWithinTheLimit) {
  auto pool = make_ref<HostPool>(24 * 1024);  // less than one thread asks for, so that it is reached in any order
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 200; ++round) {
        std::vector<Ref<Buffer>> mine;
        for (int i = 0; i < 40; ++i) {
          try {
            mine.push_back(pool->allocate(64 + (i * 131 + t * 977) % 1500, MemoryUse::kSlots));
          } catch (const Error&) {
            ++refused;
          }
          EXPECT_LE(pool->bytes_in_use(), pool->limit());
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GT(refused, 0);  // the limit was reached
  EXPECT_EQ(pool->bytes_in_use(), 0u);
  EXPECT_LE(pool->bytes_idle(), pool->limit());
}

TEST(HostPool, BuffersOutliveCloseAndPool) {
  auto pool = make_ref<HostPool>();
  auto early = pool->allocate(100, MemoryUse::kSlots);
  auto late = pool->allocate(100, MemoryUse::kSlots);
  pool->close();
  early.reset();
  EXPECT_EQ(pool->bytes_idle(), 0u);
  pool.reset();
  std::memset(late->data(), 1, late->size());
  std::thread([&] { late.reset(); }).join();
}

TEST(HostPool, ManyThreadsShareIt) {
  auto pool = make_ref<HostPool>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const auto buffer = pool->allocate(64 + (i * 37 + t) % 3000, MemoryUse::kSlots);
        std::memset(buffer->data(), t, 64);
        for (int k = 0; k < 64; ++k) ASSERT_EQ(buffer->data()[k], t);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(pool->bytes_in_use(), 0u);
}

TEST(Arena, GrowsToOneBlockThatHoldsTheLargestSample) {
  auto pool = make_ref<HostPool>();
  Arena arena(pool);
  for (int round = 0; round < 3; ++round) {
    for (size_t bytes : {100, 70000, 0, 300000}) {
      void* memory = arena.allocate(bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
      std::memset(memory, 7, bytes);
    }
    arena.reset();
    if (round > 0) {
      EXPECT_EQ(pool->system_allocations(), 4);  // three blocks at first, then the one that holds all
    }
  }
}

}  // namespace
}  // namespace headrace
