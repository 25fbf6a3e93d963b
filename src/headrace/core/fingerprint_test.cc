// Fingerprints: that contents decide about them, wherever they lie, and that every byte and the length count.
#include "core/fingerprint.h"

#include <gtest/gtest.h>

#include <array>
#include <unordered_set>
#include <vector>

#include "core/philox.h"

namespace headrace {
namespace {

using Bytes = std::vector<uint8_t>;
using Prints = std::unordered_set<Fingerprint, FingerprintHash>;

Bytes random_bytes(uint64_t seed, size_t size) {
  RandomStream random(seed, 0, 0);
  Bytes bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next_u64());
  return bytes;
}

// Around the steps of 16 bytes and the blocks of 1,024.
constexpr std::array<size_t, 14> kSizes = {0, 1, 7, 8, 15, 16, 17, 31, 1023, 1024, 1025, 1040, 2048, 3100};

TEST(Fingerprint, EqualContentsHaveEqualPrintsAtAnyAddress) {
  for (const size_t size : kSizes) {
    const Bytes bytes = random_bytes(size, size);
    const Fingerprint print = fingerprint_of(bytes);
    for (size_t offset = 0; offset < 17; ++offset) {
      Bytes moved = random_bytes(99, offset);
      moved.insert(moved.end(), bytes.begin(), bytes.end());
      moved.insert(moved.end(), 20, uint8_t{0xab});  // what lies behind must not count
      EXPECT_EQ(fingerprint_of(std::span(moved).subspan(offset, size)), print) << size << " at " << offset;
    }
  }
}

TEST(Fingerprint, EveryBitCounts) {
  for (const size_t size : kSizes) {
    Bytes bytes = random_bytes(size, size);
    Prints prints = {fingerprint_of(bytes)};
    for (size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      prints.insert(fingerprint_of(bytes));
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }
    EXPECT_EQ(prints.size(), 8 * size + 1);
  }
}

TEST(Fingerprint, TheLengthCountsAlsoForZeros) {
  const Bytes zeros(5000);
  Prints prints;
  for (size_t size = 0; size <= zeros.size(); ++size) prints.insert(fingerprint_of(std::span(zeros).first(size)));
  EXPECT_EQ(prints.size(), zeros.size() + 1);
}

TEST(Fingerprint, TheOrderOfWordsAndBlocksCounts) {
  const Bytes bytes = random_bytes(5, 4096);
  Prints prints = {fingerprint_of(bytes)};
  size_t swaps = 0;
  for (const size_t step : {size_t{8}, size_t{16}, size_t{1024}}) {
    for (size_t at = 0; at + 2 * step <= bytes.size(); at += step, ++swaps) {
      Bytes swapped = bytes;
      std::swap_ranges(&swapped[at], &swapped[at] + step, &swapped[at + step]);
      prints.insert(fingerprint_of(swapped));
    }
  }
  // Swapping words 2 i and 2 i + 1, then 16 bytes: all different.
  EXPECT_EQ(prints.size(), swaps + 1);
}

// Both halves are hashes by themselves: tables use the low one, and a collision needs both.
TEST(Fingerprint, EachHalfTellsContentsApart) {
  std::unordered_set<uint64_t> low, high;
  std::array<size_t, 256> buckets{};
  constexpr size_t kCount = 200'000;
  for (size_t i = 0; i < kCount; ++i) {
    std::array<uint8_t, 40> bytes{};
    for (int k = 0; k < 4; ++k) bytes[20 + k] = static_cast<uint8_t>(i >> 8 * k);
    const Fingerprint print = fingerprint_of(bytes);
    low.insert(print.low);
    high.insert(print.high);
    ++buckets[print.low % buckets.size()];
  }
  EXPECT_EQ(low.size(), kCount);
  EXPECT_EQ(high.size(), kCount);
  for (const size_t count : buckets) EXPECT_NEAR(static_cast<double>(count), kCount / 256.0, 400);
}

}  // namespace
}  // namespace headrace
