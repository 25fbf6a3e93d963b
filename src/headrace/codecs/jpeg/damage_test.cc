// Tests of the own JPEG decoder on damaged files: what it decodes is what libjpeg-turbo gives, and it reads nothing
// outside the file.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>

#include "codecs/jpeg/jpeg_testing.h"

namespace headrace::jpeg {
namespace {

// Coefficients that no encoder writes overflow in both decoders' transforms, ours as libjpeg-turbo's on x86.
#if defined(__x86_64__)
constexpr bool kOverflowsAsLibjpegTurbo = true;
#else
constexpr bool kOverflowsAsLibjpegTurbo = false;
#endif

const Encoding kFiles[] = {
    {.width = 28, .height = 28, .components = 1},
    {.width = 50, .height = 41, .h = 2, .v = 2},
    {.width = 50, .height = 41, .h = 2, .v = 2, .quality = 100, .restart = 2},
    {.width = 33, .height = 27, .h = 2, .v = 1, .quality = 95, .optimize = true},
    {.width = 40, .height = 44, .h = 1, .v = 2},
    {.width = 37, .height = 21, .quality = 100},
    {.width = 35, .height = 37, .components = 4, .h = 2, .v = 2, .restart = 4, .ycck = true},
};

// Whether our decoder takes the file; if so, libjpeg-turbo must have given the same pixels.
bool taken_and_equal(Pair& pair, std::span<const uint8_t> bytes, const ImageDecodeOptions& options,
                     const std::string& where) {
  const auto own = pair.own(bytes, options);
  if (!own) return false;
  const auto turbo = pair.turbo(bytes, options);
  EXPECT_TRUE(turbo.has_value()) << where << ": only libjpeg-turbo refuses";
  EXPECT_TRUE(!turbo || *own == *turbo) << where << ": other pixels";
  return true;
}

TEST(OwnJpegDamage, EveryTruncationIsRefusedOrEqual) {
  Pair pair;
  for (const Encoding& e : kFiles) {
    const ByteVector bytes = encode(e);
    const ImageRegion top{3, 0, 10, 9};
    int whole = 0, regions = 0;
    for (size_t size = 4; size < bytes.size(); ++size) {
      const std::span cut(bytes.data(), size);
      const std::string where = fmt::format("{} of {} bytes", size, bytes.size());
      whole += taken_and_equal(pair, cut, {}, where);
      regions += taken_and_equal(pair, cut, {.roi = top}, where);
    }
    EXPECT_LE(whole, 3) << "only the marker at the end may be missing";
    EXPECT_GT(regions, whole) << "a region needs no more than its part of the file";
    EXPECT_TRUE(taken_and_equal(pair, bytes, {}, "whole")) << "the decoder is as good as new";
  }
}

TEST(OwnJpegDamage, FlippedBitsAreRefusedOrEqual) {
  if (!kOverflowsAsLibjpegTurbo) GTEST_SKIP() << "libjpeg-turbo wraps sums elsewhere on this processor";
  std::mt19937 random(23);
  Pair pair;
  int taken = 0;
  for (const Encoding& e : kFiles) {
    const ByteVector bytes = encode(e);
    for (int i = 0; i < 10000 / static_cast<int>(std::size(kFiles)); ++i) {
      ByteVector bad = bytes;
      const size_t flips = 1 + random() % 2;
      for (size_t k = 0; k < flips; ++k) bad[random() % bad.size()] ^= static_cast<uint8_t>(1u << random() % 8);
      ImageDecodeOptions options;
      if (i % 3 == 0) options.roi = ImageRegion{2, 9, 11, 7};
      taken += taken_and_equal(pair, bad, options, fmt::format("flip {} of {} x {}", i, e.width, e.height));
    }
  }
  EXPECT_GT(taken, 1000) << "most flips change values only";
}

// What a damaged image leaves behind must not show in a later one, whatever comes between.
TEST(OwnJpegDamage, LeavesNothingBehind) {
  std::mt19937 random(29);
  Pair pair;
  for (int i = 0; i < 300; ++i) {
    const ByteVector bytes = encode(kFiles[random() % std::size(kFiles)]);
    const std::span<const uint8_t> all(bytes);
    pair.own(all.first(bytes.size() - 1 - random() % 300));
    const ByteVector next = encode(kFiles[random() % std::size(kFiles)]);
    const ImageColor color = random() % 2 ? ImageColor::kGray : ImageColor::kRgb;
    ASSERT_TRUE(taken_and_equal(pair, next, {.color = color}, fmt::format("first after {}", i)));
    ASSERT_TRUE(taken_and_equal(pair, bytes, {}, fmt::format("second after {}", i)));
  }
}

uint8_t large_factor(std::mt19937& random, int kind) {
  if (kind == 0) return static_cast<uint8_t>(random());
  if (kind == 1) return static_cast<uint8_t>(255 - random() % 3);
  return random() % 2 ? 255 : 0;
}

// Quantisation tables of large numbers drive the transform out of the range that encoders use, where the places at
// which sums wrap and saturate show.
TEST(OwnJpegDamage, CoefficientsOutOfRangeGiveTheSamePixels) {
  if (!kOverflowsAsLibjpegTurbo) GTEST_SKIP() << "libjpeg-turbo wraps sums elsewhere on this processor";
  std::mt19937 random(31);
  Pair pair;
  for (const Encoding& e : kFiles) {
    const ByteVector bytes = encode(e);
    for (int i = 0; i < 200; ++i) {
      ByteVector bad = bytes;
      for (size_t at = 2; at + 69 < bad.size() && bad[at + 1] != 0xda; at += 2 + load_be16(&bad[at + 2])) {
        if (bad[at + 1] != 0xdb) continue;
        for (size_t k = 0; k < 64; ++k) bad[at + 5 + k] = large_factor(random, i % 3);
      }
      EXPECT_TRUE(taken_and_equal(pair, bad, {}, fmt::format("table {}", i)));
    }
  }
}

// A file whose last byte is the last of a mapped page: a read behind it would end the test.
TEST(OwnJpegDamage, ReadsNothingBehindTheFile) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t room = 16 * page;
  auto* memory =
      static_cast<uint8_t*>(mmap(nullptr, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory + room, page, PROT_NONE), 0);
  Pair pair;
  for (const Encoding& e : kFiles) {
    const ByteVector bytes = encode(e);
    ASSERT_LT(bytes.size(), room);
    for (size_t size = 4; size <= bytes.size(); size += size + 64 < bytes.size() ? 7 : 1) {
      uint8_t* at = memory + room - size;
      std::memcpy(at, bytes.data(), size);
      pair.own({at, size});
    }
    EXPECT_TRUE(taken_and_equal(pair, {memory + room - bytes.size(), bytes.size()}, {}, "at the end of a page"));
  }
  munmap(memory, room + page);
}

}  // namespace
}  // namespace headrace::jpeg
