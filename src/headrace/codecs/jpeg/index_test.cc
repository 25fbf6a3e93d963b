// Tests of decoding with an entropy index. Oracle: libjpeg-turbo, which has none.
#include <gtest/gtest.h>

#include <random>

#include "codecs/jpeg/jpeg_testing.h"

namespace headrace::jpeg {
namespace {

using testing_images::random_region;
using testing_images::slice;

const Encoding kKinds[] = {
    {.h = 1, .v = 1},
    {.h = 2, .v = 1},
    {.h = 2, .v = 2},
    {.h = 1, .v = 2, .optimize = true},
    {.h = 4, .v = 1, .quality = 100},
    {.h = 2, .v = 2, .restart = 1},
    {.h = 2, .v = 2, .restart = 3},
    {.h = 2, .v = 1, .restart = 8},
    {.h = 1, .v = 1, .restart = 29},
    {.components = 1},
    {.components = 1, .restart = 5},
    {.components = 4, .h = 2, .v = 2, .ycck = true},
    {.components = 4, .restart = 7},
};

std::string describe(const Encoding& e, const ImageRegion& r) {
  return fmt::format("{} components {}x{} restart {}: {} x {}, region x {} y {} {}x{}", e.components, e.h, e.v,
                     e.restart, e.width, e.height, r.x, r.y, r.width, r.height);
}

TEST(EntropyIndex, RegionsEqualTheWholeImage) {
  std::mt19937 random(5);
  Pair pair;
  for (Encoding e : kKinds) {
    e.width = 230 + static_cast<int>(random() % 40);
    e.height = 170 + static_cast<int>(random() % 40);
    const ByteVector bytes = encode(e);
    const ByteVector full = *pair.turbo(bytes);
    GrowingIndex index;
    for (int i = 0; i < 200; ++i) {
      ImageRegion r = random_region(random, e.width, e.height);
      if (i % 2) r.width = std::min(r.width, 30), r.height = std::min(r.height, 30);
      const auto own = pair.own(bytes, {.roi = r, .index = index.use()});
      index.grow();
      ASSERT_TRUE(own && *own == slice(full, e.width, 3, r)) << describe(e, r);
    }
    // The last row has been decoded: all points are there, and none twice.
    const ImageRegion last{0, e.height - 1, 1, 1};
    ASSERT_TRUE(pair.own(bytes, {.roi = last, .index = index.use()}));
    index.grow();
    EXPECT_EQ(static_cast<int>(index.points().size()), index.size()) << describe(e, last);
    EXPECT_GT(index.size(), 8);
  }
}

TEST(EntropyIndex, GrayOfAColourImageUsesTheSamePoints) {
  std::mt19937 random(6);
  Pair pair;
  const Encoding e{.width = 201, .height = 155, .h = 2, .v = 2};
  const ByteVector bytes = encode(e);
  GrowingIndex index;
  for (int i = 0; i < 100; ++i) {
    const ImageColor color = i % 2 ? ImageColor::kGray : ImageColor::kRgb;
    const ImageRegion r = random_region(random, e.width, e.height);
    const auto own = pair.own(bytes, {.color = color, .roi = r, .index = index.use()});
    index.grow();
    ASSERT_TRUE(own && *own == slice(*pair.turbo(bytes, {.color = color}), e.width, i % 2 ? 1 : 3, r));
  }
}

TEST(EntropyIndex, TinyImagesHaveNone) {
  Pair pair;
  GrowingIndex index;
  ASSERT_TRUE(pair.own(encode({.width = 28, .height = 28, .components = 1}),
                       {.roi = ImageRegion{3, 4, 5, 6}, .index = index.use()}));
  index.grow();
  EXPECT_EQ(index.size(), 0);
  EXPECT_TRUE(index.points().empty());
}

// Damage is met, or not met, as without an index: what was decoded before is sound, the rest is looked at.
TEST(EntropyIndex, DamagedFilesGiveTheSame) {
  std::mt19937 random(7);
  Pair pair, plain;
  for (Encoding e : kKinds) {
    e.width = 190, e.height = 140;
    const ByteVector sound = encode(e);
    for (int k = 0; k < 60; ++k) {
      ByteVector bytes = sound;
      const size_t at = sound.size() / 3 + random() % (sound.size() * 2 / 3);
      if (k % 3 == 0) {
        bytes.resize(at);
      } else {
        bytes[at] ^= static_cast<uint8_t>(1 << random() % 8);
      }
      GrowingIndex index;
      for (int i = 0; i < 12; ++i) {
        const ImageRegion r = random_region(random, e.width, e.height);
        const auto with = pair.own(bytes, {.roi = r, .index = index.use()});
        index.grow();
        ASSERT_EQ(with, plain.own(bytes, {.roi = r})) << describe(e, r) << " damage " << k << " at " << at;
      }
    }
  }
}

// A file that shares its first bytes with another one, and its header's extents.
TEST(EntropyIndex, ThatOfAnotherFileIsRefused) {
  Pair pair;
  const Encoding e{.width = 200, .height = 200};
  GrowingIndex index;
  const ImageRegion last{0, 199, 1, 1};
  ASSERT_TRUE(pair.own(encode(e), {.roi = last, .index = index.use()}));
  index.grow();
  ByteVector cut = encode(e);
  cut.resize(cut.size() / 2);
  EXPECT_FALSE(pair.own(cut, {.roi = last, .index = index.use()}));
}

}  // namespace
}  // namespace headrace::jpeg
