// Philox: the known answers of the paper's library, and the streams built on it.
#include "core/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace headrace {
namespace {

// Known-answer vectors of Philox4x32-10 (Random123, kat_vectors).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (std::array<uint32_t, 4>{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(philox({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, {0xa4093822u, 0x299f31d0u}),
            (std::array<uint32_t, 4>{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(RandomStream, NameDecidesTheNumbers) {
  std::set<uint64_t> first;
  for (uint64_t seed : {0ull, 1ull, 1ull << 40}) {
    for (int64_t epoch : {0, 1, 2}) {
      for (int64_t position : {0ll, 1ll, 1ll << 40}) {
        RandomStream a(seed, epoch, position);
        RandomStream b(seed, epoch, position);
        const uint64_t value = a.next_u64();
        EXPECT_EQ(value, b.next_u64());
        first.insert(value);
      }
    }
  }
  EXPECT_EQ(first.size(), 27u);
}

TEST(RandomStream, StaysInRange) {
  RandomStream random(5, 0, 0);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const float f = random.next_float();
    ASSERT_GE(f, 0.0f);
    ASSERT_LT(f, 1.0f);
    ASSERT_LT(random.next_below(7), 7u);
    sum += random.next_double();
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);
}

}  // namespace
}  // namespace headrace
