// The cache of decoded images: what it keeps, that it gives what was put, and all that from many threads at once.
#include "ops/decoders/decoded_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

namespace headrace {
namespace {

using testing::HasSubstr;

Fingerprint key_of(int64_t number) {
  return fingerprint_of({reinterpret_cast<const uint8_t*>(&number), sizeof(number)});
}

std::vector<std::string> logged;
void remember(LogLevel, std::string_view message) { logged.emplace_back(message); }

class DecodedCacheTest : public testing::Test {
 protected:
  DecodedCacheTest() {
    logged.clear();
    set_log_sink(remember);
  }
  ~DecodedCacheTest() override { set_log_sink(nullptr); }

  DecodedCache& make(int64_t limit, const DecodedCacheOptions& options = {}, size_t memory_limit = 0) {
    pool_ = make_ref<HostPool>(memory_limit);
    group_ = std::make_unique<GroupState>(pool_);
    auto cache = group_->share<DecodedCache>("c", [&] { return std::make_shared<DecodedCache>(*group_, options); });
    cache->add_share(limit);
    return *cache;
  }

  // What a decoder does with image `number`: true if it came from the cache, with the right pixels.
  static bool decode(DecodedCache& cache, int64_t number, int64_t bytes, int64_t epoch = 0) {
    const auto value = static_cast<uint8_t>(number * 31 + bytes);
    const ImageExtents extents{1, static_cast<int32_t>(bytes), 1};
    cache.prefetch(number, number + 1);
    if (const DecodedCache::Image* image = cache.find(key_of(number), number)) {
      const bool is_right = image->extents.width == bytes &&
                            std::all_of(image->pixels, image->pixels + bytes, [&](uint8_t p) { return p == value; });
      EXPECT_TRUE(is_right) << "image " << number;
      return true;
    }
    if (cache.wants(key_of(number), bytes, epoch)) {
      const std::vector<uint8_t> pixels(static_cast<size_t>(bytes), value);
      cache.insert(key_of(number), extents, pixels.data(), bytes);
    }
    return false;
  }

  Ref<HostPool> pool_;
  std::unique_ptr<GroupState> group_;
};

TEST_F(DecodedCacheTest, KeepsWhatComesUntilItIsFull) {
  DecodedCache& cache = make(1000);
  for (const auto& [number, bytes] : {std::pair<int, int>{1, 400}, {2, 500}, {3, 200}, {4, 100}, {5, 1}}) {
    EXPECT_FALSE(decode(cache, number, bytes));
  }
  EXPECT_TRUE(decode(cache, 1, 400));
  EXPECT_TRUE(decode(cache, 2, 500));
  EXPECT_FALSE(decode(cache, 3, 200));  // no room; a smaller one still fits
  EXPECT_TRUE(decode(cache, 4, 100));
  EXPECT_FALSE(decode(cache, 5, 1));
  EXPECT_EQ(cache.bytes(), 1000);
  EXPECT_EQ(cache.images(), 3);
}

TEST_F(DecodedCacheTest, KeepsOnlyImagesAboveTheThreshold) {
  DecodedCache& cache = make(1000, {.threshold = 100});
  decode(cache, 1, 100);
  decode(cache, 2, 101);
  EXPECT_FALSE(decode(cache, 1, 100));
  EXPECT_TRUE(decode(cache, 2, 101));
}

TEST_F(DecodedCacheTest, CountsAnImageOnceThatTwoThreadsDecoded) {
  DecodedCache& cache = make(1000);
  const uint8_t first = 1, second = 2;
  cache.insert(key_of(7), {1, 1, 1}, &first, 1);
  cache.insert(key_of(7), {1, 1, 1}, &second, 1);
  EXPECT_EQ(cache.bytes(), 1);
  EXPECT_EQ(cache.images(), 1);
  EXPECT_EQ(*cache.find(key_of(7), 7)->pixels, 1);
}

TEST_F(DecodedCacheTest, HintsAreNoMoreThanThat) {
  DecodedCache& cache = make(10'000);
  for (int64_t i = 0; i < 20; ++i) decode(cache, i, 10 + i);
  for (int64_t round = 0; round < 3; ++round) {
    for (int64_t i = 0; i < 25; ++i) {
      cache.prefetch(i, i * 1'000'000'007);
      // The record that had image i gives another one now, or a file that nobody saw before.
      const int64_t now = (i * 7 + round) % 25;
      const DecodedCache::Image* image = cache.find(key_of(now), round == 2 ? -i : i);
      ASSERT_EQ(image != nullptr, now < 20);
      EXPECT_TRUE(!image || image->extents.width == 10 + now);
    }
  }
}

// The oracle sorts the sizes: what is kept is the longest row of the largest that fits.
TEST_F(DecodedCacheTest, LargestKeepsTheLargestThatFit) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> sizes(1 + random() % 40);
    for (int64_t& size : sizes) size = 1 + random() % 20;  // many are equal
    const int64_t limit = 1 + random() % 300;
    DecodedCache& cache = make(limit, {.largest = true});
    std::vector<size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      std::shuffle(order.begin(), order.end(), random);
      if (epoch == 2) break;
      for (const size_t i : order) {
        EXPECT_FALSE(decode(cache, static_cast<int64_t>(i), sizes[i], epoch)) << "epoch " << epoch;
      }
      EXPECT_EQ(cache.bytes() > 0, epoch == 1 && *std::max_element(sizes.begin(), sizes.end()) <= limit);
    }
    std::vector<int64_t> kept;
    for (const size_t i : order) {
      if (decode(cache, static_cast<int64_t>(i), sizes[i], 2)) kept.push_back(sizes[i]);
    }
    std::vector<int64_t> expected = sizes;
    std::sort(expected.rbegin(), expected.rend());
    int64_t sum = 0;
    expected.erase(std::find_if(expected.begin(), expected.end(), [&](int64_t s) { return (sum += s) > limit; }),
                   expected.end());
    std::sort(kept.rbegin(), kept.rend());
    EXPECT_EQ(kept, expected);
  }
}

TEST_F(DecodedCacheTest, LargestChoosesWithoutEpochsWhenAllCameTwice) {
  DecodedCache& cache = make(60, {.largest = true, .debug = true});
  for (int round = 0; round < 5; ++round) {
    for (int64_t i = 1; i <= 10; ++i) EXPECT_EQ(decode(cache, i, i * 5), round >= 3 && i == 10) << round << ' ' << i;
  }
  EXPECT_EQ(cache.bytes(), 50);
  group_->log_notes();
  ASSERT_FALSE(logged.empty());
  EXPECT_THAT(logged[0], HasSubstr("50 bytes and more"));
}

TEST_F(DecodedCacheTest, ManyThreadsFindAndPutAtOnce) {
  constexpr int64_t kImages = 3000;
  const auto bytes_of = [](int64_t number) { return number % 50 == 0 ? 200'000 + number : 1 + number % 700; };
  int64_t sum = 0;
  for (int64_t i = 0; i < kImages; ++i) sum += bytes_of(i);
  for (const int64_t limit : {sum, sum / 3}) {
    DecodedCache& cache = make(limit);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(t);
        for (int i = 0; i < 6000; ++i) {
          const auto number = static_cast<int64_t>(random() % kImages);
          decode(cache, number, bytes_of(number));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(cache.bytes(), limit);
    int64_t found = 0, found_bytes = 0;
    for (int64_t i = 0; i < kImages; ++i) {
      if (decode(cache, i, bytes_of(i)) || limit == sum) ++found, found_bytes += bytes_of(i);
    }
    EXPECT_LE(found_bytes, limit);
    EXPECT_EQ(cache.images() == kImages, limit == sum);
    EXPECT_GT(found, kImages / 4);
  }
}

TEST_F(DecodedCacheTest, LeavesMemoryLimitToBatches) {
  DecodedCache& cache = make(int64_t{100} << 20, {}, 8 << 20);
  const Ref<Buffer> batches = pool_->allocate(1 << 20, MemoryUse::kSlots);
  for (int64_t i = 0; i < 100; ++i) decode(cache, i, 300'000);
  EXPECT_GT(cache.images(), 5);
  EXPECT_LE(pool_->bytes_in_use(MemoryUse::kCaches), size_t{6} << 20);
  EXPECT_NO_THROW(pool_->allocate(1 << 20, MemoryUse::kSlots));
  EXPECT_TRUE(decode(cache, 0, 300'000));
  group_->log_notes();
  ASSERT_EQ(logged.size(), 1U);
  EXPECT_THAT(logged[0], HasSubstr("raise memory_limit or lower cache_size"));
}

TEST_F(DecodedCacheTest, CloseGivesTheMemoryBack) {
  DecodedCache& cache = make(10 << 20);
  for (int64_t i = 0; i < 3000; ++i) decode(cache, i, 1000);
  EXPECT_GE(pool_->bytes_in_use(MemoryUse::kCaches), 3'000'000U);
  group_->close();
  EXPECT_EQ(pool_->bytes_in_use(MemoryUse::kCaches), 0U);
  EXPECT_EQ(cache.bytes(), 0);
}

TEST_F(DecodedCacheTest, DebugTellsOnceThatItIsFull) {
  DecodedCache& cache = make(1000, {.debug = true});
  for (int64_t i = 0; i < 10; ++i) decode(cache, i, 300);
  group_->log_notes();
  ASSERT_EQ(logged.size(), 1U);
  EXPECT_THAT(logged[0], HasSubstr("full with 3 images"));
}

TEST_F(DecodedCacheTest, DecodersShareByNameAndAddUp) {
  DecodedCache& first = make(1000);
  const auto same =
      group_->share<DecodedCache>("c", [&] { return std::make_shared<DecodedCache>(*group_, DecodedCacheOptions{}); });
  same->add_share(500);
  EXPECT_EQ(same.get(), &first);
  EXPECT_EQ(first.limit(), 1500);
  const auto other =
      group_->share<DecodedCache>("d", [&] { return std::make_shared<DecodedCache>(*group_, DecodedCacheOptions{}); });
  EXPECT_NE(other.get(), &first);
}

}  // namespace
}  // namespace headrace
