// Tests of lossless JPEG. Oracle: the samples that the plain encoder of this file was given.
#include "codecs/jpeg_lossless.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <vector>

#include "codecs/codec_testing.h"
#include "codecs/image_codec.h"
#include "core/error.h"

namespace headrace {
namespace {

using namespace testing_images;

struct LosslessKind {
  int components;
  int bits;
  int predictor;
  int shift = 0;
  int restart_rows = 0;
};

constexpr int kWidth = 13, kHeight = 9;

uint16_t sample_at(const LosslessKind& kind, int x, int y, int c) {
  const uint32_t noise = static_cast<uint32_t>(x * 7919 + y * 104729 + c * 1299709) * 2654435761u >> 16;
  const int smooth = (x * 9 + y * 5 + c * 3) << std::max(kind.bits - 8, 0);
  const int value = (y % 3 == 2 ? static_cast<int>(noise) : smooth) & ((1 << kind.bits) - 1);
  return static_cast<uint16_t>(value >> kind.shift << kind.shift);
}

class BitWriter {
 public:
  explicit BitWriter(ByteVector& out) : out_(out) {}
  void put(uint32_t value, int count) {
    for (int i = count - 1; i >= 0; --i) {
      byte_ = byte_ << 1 | static_cast<int>(value >> i & 1);
      if (++filled_ == 8) flush_byte();
    }
  }
  void pad() {
    while (filled_ != 0) put(1, 1);
  }

 private:
  void flush_byte() {
    out_.push_back(static_cast<uint8_t>(byte_));
    if (byte_ == 0xff) out_.push_back(0);
    byte_ = filled_ = 0;
  }
  ByteVector& out_;
  int byte_ = 0;
  int filled_ = 0;
};

void append(ByteVector& out, std::initializer_list<int> values) {
  for (const int value : values) out.push_back(static_cast<uint8_t>(value));
}

int predicted(const LosslessKind& kind, int x, int y, int c, bool first_row) {
  const auto at = [&](int dx, int dy) { return sample_at(kind, x + dx, y + dy, c) >> kind.shift; };
  if (first_row) return x == 0 ? 1 << (kind.bits - kind.shift - 1) : at(-1, 0);
  if (x == 0) return at(0, -1);
  const int a = at(-1, 0), b = at(0, -1), above_left = at(-1, -1);
  const int table[] = {
      0, a, b, above_left, a + b - above_left, a + ((b - above_left) >> 1), b + ((a - above_left) >> 1), (a + b) >> 1};
  return table[kind.predictor];
}

// All 17 difference sizes get codes of 5 bits, which keeps the table short.
ByteVector encode_lossless(const LosslessKind& kind) {
  ByteVector out;
  append(out, {0xff, 0xd8, 0xff, 0xc3, 0, 8 + kind.components * 3, kind.bits, 0, kHeight, 0, kWidth, kind.components});
  for (int c = 0; c < kind.components; ++c) append(out, {c + 1, 0x11, 0});
  append(out, {0xff, 0xc4, 0, 2 + 17 + 17, 0, 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  for (int i = 0; i <= 16; ++i) append(out, {i});
  if (kind.restart_rows) append(out, {0xff, 0xdd, 0, 4, 0, kind.restart_rows * kWidth});
  append(out, {0xff, 0xda, 0, 6 + kind.components * 2, kind.components});
  for (int c = 0; c < kind.components; ++c) append(out, {c + 1, 0});
  append(out, {kind.predictor, 0, kind.shift});
  BitWriter writer(out);
  int restarts = 0;
  for (int y = 0; y < kHeight; ++y) {
    const bool restart = y > 0 && kind.restart_rows > 0 && y % kind.restart_rows == 0;
    if (restart) {
      writer.pad();
      append(out, {0xff, 0xd0 + restarts++ % 8});
    }
    for (int x = 0; x < kWidth; ++x) {
      for (int c = 0; c < kind.components; ++c) {
        const int sample = sample_at(kind, x, y, c) >> kind.shift;
        const int difference = static_cast<int16_t>(sample - predicted(kind, x, y, c, y == 0 || restart));
        const int magnitude = difference < 0 ? -difference : difference;
        int size = 0;
        while (magnitude >> size) ++size;
        writer.put(static_cast<uint32_t>(size), 5);
        if (size < 16) writer.put(static_cast<uint32_t>(difference < 0 ? difference - 1 : difference), size);
      }
    }
  }
  writer.pad();
  append(out, {0xff, 0xd9});
  return out;
}

const LosslessKind kKinds[] = {
    {1, 8, 1},  {1, 8, 2},  {1, 8, 3}, {1, 8, 4},  {1, 8, 5},    {1, 8, 6},        {1, 8, 7},       {1, 16, 1},
    {1, 16, 7}, {1, 12, 4}, {3, 8, 6}, {3, 16, 5}, {1, 8, 4, 2}, {1, 16, 1, 0, 2}, {3, 8, 7, 0, 3},
};

TEST(LosslessJpeg, GivesTheEncodedSamples) {
  ImageDecoder decoder;
  for (const LosslessKind& kind : kKinds) {
    const ByteVector bytes = encode_lossless(kind);
    EXPECT_TRUE(is_lossless_jpeg(bytes));
    const ByteVector out = decode(decoder, bytes, {.color = ImageColor::kAny, .dtype = DType::kUInt16});
    const int64_t largest = (1 << kind.bits) - 1;
    size_t i = 0;
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        for (int c = 0; c < kind.components; ++c, i += 2) {
          uint16_t value;
          std::memcpy(&value, &out[i], 2);
          const int64_t expected = (sample_at(kind, x, y, c) * int64_t{65535} + largest / 2) / largest;
          ASSERT_EQ(value, expected) << kind.components << " components, " << kind.bits << " bits, predictor "
                                     << kind.predictor << ", x " << x << " y " << y;
        }
      }
    }
    const ImageRegion r = {3, 2, 6, 5};
    const ImageDecodeOptions any = {.color = ImageColor::kAny};
    EXPECT_EQ(decode(decoder, bytes, {.color = ImageColor::kAny, .roi = r}),
              slice(decode(decoder, bytes, any), kWidth, kind.components, r));
  }
}

// A scan header that names a component three times leaves two without samples.
TEST(LosslessJpeg, EachComponentMustCome) {
  ImageDecoder decoder;
  ByteVector bytes = encode_lossless({3, 8, 6});
  const uint8_t scan[] = {0xff, 0xda, 0, 12, 3};
  const auto header = std::search(bytes.begin(), bytes.end(), std::begin(scan), std::end(scan));
  ASSERT_NE(header, bytes.end());
  for (int c = 0; c < 3; ++c) header[5 + 2 * c] = 1;
  EXPECT_THROW(decode(decoder, bytes), Error);
}

TEST(LosslessJpeg, DamageIsAnError) {
  ImageDecoder decoder;
  std::mt19937 random(8);
  for (const LosslessKind& kind : kKinds) {
    const ByteVector bytes = encode_lossless(kind);
    for (size_t i = 0; i < 16; ++i) {
      const ByteVector cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(bytes.size() * i / 16));
      EXPECT_THROW(decode(decoder, cut), Error) << i << "/16";
    }
    for (int i = 0; i < 100; ++i) {
      ByteVector bad = bytes;
      bad[random() % bad.size()] = static_cast<uint8_t>(random());
      try {
        if (decoded_image_shape(read_image_header(bad), {}).volume() < (1 << 22)) decode(decoder, bad);
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace headrace
