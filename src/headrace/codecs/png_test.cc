// Tests of the PNG decoder. Oracle: the pixels that libpng was given to write.
#include "codecs/png_filter.h"

#include <gtest/gtest.h>
#include <png.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "codecs/codec_testing.h"
#include "codecs/image_codec.h"
#include "core/error.h"

namespace headrace {
namespace {

using namespace testing_images;

struct PngKind {
  int color;
  int depth;
  int channels() const {
    return color == PNG_COLOR_TYPE_RGB          ? 3
           : color == PNG_COLOR_TYPE_RGBA       ? 4
           : color == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                                : 1;
  }
  std::string name() const { return fmt::format("colour type {}, {} bits", color, depth); }
};

const PngKind kKinds[] = {
    {PNG_COLOR_TYPE_GRAY, 1},        {PNG_COLOR_TYPE_GRAY, 2},    {PNG_COLOR_TYPE_GRAY, 4},
    {PNG_COLOR_TYPE_GRAY, 8},        {PNG_COLOR_TYPE_GRAY, 16},   {PNG_COLOR_TYPE_RGB, 8},
    {PNG_COLOR_TYPE_RGB, 16},        {PNG_COLOR_TYPE_PALETTE, 1}, {PNG_COLOR_TYPE_PALETTE, 2},
    {PNG_COLOR_TYPE_PALETTE, 4},     {PNG_COLOR_TYPE_PALETTE, 8}, {PNG_COLOR_TYPE_GRAY_ALPHA, 8},
    {PNG_COLOR_TYPE_GRAY_ALPHA, 16}, {PNG_COLOR_TYPE_RGBA, 8},    {PNG_COLOR_TYPE_RGBA, 16},
};

// Samples 0 .. 2^depth - 1, with smooth parts so that libpng finds use for every filter.
std::vector<uint16_t> test_samples(const PngKind& kind, int width, int height) {
  std::mt19937 random(3);
  std::vector<uint16_t> samples;
  const int levels = 1 << kind.depth;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < kind.channels(); ++c) {
        const int smooth = (x * 5 + y * 11 + c * 30) * levels / 256;
        samples.push_back(static_cast<uint16_t>((y % 5 == 4 ? static_cast<int>(random()) : smooth) & (levels - 1)));
      }
    }
  }
  return samples;
}

std::vector<png_color> test_palette(int depth) {
  std::vector<png_color> palette;
  palette.reserve(size_t{1} << depth);
  for (int i = 0; i < 1 << depth; ++i) {
    palette.push_back(
        {static_cast<png_byte>(i * 7 + 1), static_cast<png_byte>(255 - i), static_cast<png_byte>(i * 31)});
  }
  return palette;
}

void append(png_structp png, png_bytep data, size_t size) {
  auto* out = static_cast<ByteVector*>(png_get_io_ptr(png));
  out->insert(out->end(), data, data + size);
}

struct PngLayout {
  bool interlaced = false;
  int filters = PNG_ALL_FILTERS;
  size_t chunk_bytes = 8192;
  int orientation = 1;
};

ByteVector encode_png(const PngKind& kind, int width, int height, const PngLayout& how = {}) {
  ByteVector bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &bytes, append, nullptr);
  png_set_compression_buffer_size(png, how.chunk_bytes);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), kind.depth, kind.color,
               how.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_set_filter(png, 0, how.filters);
  if (kind.color == PNG_COLOR_TYPE_PALETTE) {
    const std::vector<png_color> palette = test_palette(kind.depth);
    png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
    const png_byte alpha[2] = {0, 128};
    png_set_tRNS(png, info, alpha, 2, nullptr);
  }
  png_byte exif[26] = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0};
  exif[18] = static_cast<png_byte>(how.orientation);
  if (how.orientation != 1) png_set_eXIf_1(png, info, sizeof exif, exif);
  png_write_info(png, info);
  png_set_packing(png);
  if (kind.depth == 16) png_set_swap(png);
  const std::vector<uint16_t> samples = test_samples(kind, width, height);
  const size_t per_row = static_cast<size_t>(width) * static_cast<size_t>(kind.channels());
  const size_t size = kind.depth == 16 ? 2 : 1;
  ByteVector image(samples.size() * size);
  for (size_t i = 0; i < samples.size(); ++i) std::memcpy(&image[i * size], &samples[i], size);
  std::vector<png_bytep> rows;
  rows.reserve(static_cast<size_t>(height));
  for (int y = 0; y < height; ++y) rows.push_back(&image[static_cast<size_t>(y) * per_row * size]);
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

// What decode must give for ImageColor::kAny as u16: palette expanded, samples scaled to 0..65535.
std::vector<uint16_t> expected_any(const PngKind& kind, int width, int height) {
  std::vector<uint16_t> out;
  const std::vector<png_color> palette = test_palette(kind.depth <= 8 ? kind.depth : 1);
  for (const uint16_t sample : test_samples(kind, width, height)) {
    if (kind.color == PNG_COLOR_TYPE_PALETTE) {
      const png_color& color = palette[sample];
      for (const int v : {color.red, color.green, color.blue}) out.push_back(static_cast<uint16_t>(v * 257));
    } else {
      out.push_back(static_cast<uint16_t>(int64_t{sample} * 65535 / ((1 << kind.depth) - 1)));
    }
  }
  return out;
}

std::vector<uint16_t> as_u16(const ByteVector& bytes) {
  std::vector<uint16_t> out(bytes.size() / 2);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

TEST(Png, EveryKindAndInterlacingGivesTheWrittenSamples) {
  ImageDecoder decoder;
  for (const PngKind& kind : kKinds) {
    for (const bool interlaced : {false, true}) {
      for (const auto& [width, height] : {std::pair{33, 21}, {1, 1}, {3, 2}, {5, 9}, {8, 8}}) {
        const ByteVector bytes = encode_png(kind, width, height, {.interlaced = interlaced, .chunk_bytes = 100});
        const ImageHeader header = read_image_header(bytes);
        EXPECT_EQ(header.bit_depth, kind.depth);
        EXPECT_EQ(header.channels, kind.color == PNG_COLOR_TYPE_PALETTE ? 3 : kind.channels());
        const ByteVector out = decode(decoder, bytes, {.color = ImageColor::kAny, .dtype = DType::kUInt16});
        ASSERT_EQ(as_u16(out), expected_any(kind, width, height))
            << kind.name() << " " << width << "x" << height << " " << interlaced;
      }
    }
  }
}

TEST(Png, EachFilterIsUndone) {
  ImageDecoder decoder;
  for (const PngKind& kind : kKinds) {
    for (const int filter : {PNG_FILTER_NONE, PNG_FILTER_SUB, PNG_FILTER_UP, PNG_FILTER_AVG, PNG_FILTER_PAETH}) {
      const ByteVector bytes = encode_png(kind, 23, 7, {.filters = filter});
      const ByteVector out = decode(decoder, bytes, {.color = ImageColor::kAny, .dtype = DType::kUInt16});
      ASSERT_EQ(as_u16(out), expected_any(kind, 23, 7)) << kind.name() << " filter " << filter;
    }
  }
}

// A first row may carry any filter, also those that look up; encoders rarely write such rows.
TEST(Png, FiltersOfTheFirstRowTakeZerosAbove) {
  std::mt19937 random(2);
  for (const int distance : {1, 2, 3, 4, 6, 8}) {
    for (uint8_t filter = 0; filter <= 4; ++filter) {
      ByteVector first(static_cast<size_t>(distance) * 5), zeros(first.size(), 0);
      for (uint8_t& b : first) b = static_cast<uint8_t>(random());
      ByteVector below = first;
      png::unfilter_row(filter, first.data(), nullptr, first.size(), distance);
      png::unfilter_row(filter, below.data(), zeros.data(), below.size(), distance);
      EXPECT_EQ(first, below) << distance << " " << int{filter};
    }
  }
  uint8_t row = 0;
  EXPECT_THROW(png::unfilter_row(5, &row, nullptr, 1, 1), Error);
}

TEST(Png, ColoursAndTypes) {
  ImageDecoder decoder;
  const ByteVector rgba16 = encode_png({PNG_COLOR_TYPE_RGBA, 16}, 9, 6);
  const std::vector<uint16_t> stored = expected_any({PNG_COLOR_TYPE_RGBA, 16}, 9, 6);
  const ByteVector rgb = decode(decoder, rgba16);
  const ByteVector bgr = decode(decoder, rgba16, {.color = ImageColor::kBgr});
  const ByteVector gray = decode(decoder, rgba16, {.color = ImageColor::kGray});
  const ByteVector ycbcr = decode(decoder, rgba16, {.color = ImageColor::kYCbCr});
  const ByteVector floats = decode(decoder, rgba16, {.color = ImageColor::kAny, .dtype = DType::kFloat32});
  for (size_t i = 0; i < rgb.size() / 3; ++i) {
    const double r = stored[i * 4] / 257.0, g = stored[i * 4 + 1] / 257.0, b = stored[i * 4 + 2] / 257.0;
    EXPECT_NEAR(rgb[i * 3], r, 0.5001);
    EXPECT_EQ(bgr[i * 3], rgb[i * 3 + 2]);
    EXPECT_EQ(bgr[i * 3 + 2], rgb[i * 3]);
    EXPECT_NEAR(gray[i], 0.299 * r + 0.587 * g + 0.114 * b, 0.51);
    EXPECT_NEAR(ycbcr[i * 3], 16 + 0.25678824 * r + 0.50412941 * g + 0.09790588 * b, 0.51);
    EXPECT_NEAR(ycbcr[i * 3 + 1], 128 - 0.14822290 * r - 0.29099279 * g + 0.43921569 * b, 0.51);
    EXPECT_NEAR(ycbcr[i * 3 + 2], 128 + 0.43921569 * r - 0.36778831 * g - 0.07142737 * b, 0.51);
  }
  for (size_t i = 0; i < stored.size(); ++i) {
    float value;
    std::memcpy(&value, &floats[i * 4], 4);
    EXPECT_EQ(value, static_cast<float>(stored[i]) / 65535.0f);
  }
}

TEST(Png, RegionsAndOrientation) {
  ImageDecoder decoder;
  std::mt19937 random(4);
  for (const bool interlaced : {false, true}) {
    for (const PngKind& kind : kKinds) {
      const ByteVector bytes = encode_png(kind, 31, 19, {.interlaced = interlaced, .orientation = 6});
      const ByteVector full = decode(decoder, bytes);
      const ByteVector stored = decode(decoder, bytes, {.adjust_orientation = false});
      for (int y = 0; y < 31; ++y) {  // a quarter turn clockwise: the stored left column, read upwards, is the top row
        for (int x = 0; x < 19; ++x) ASSERT_EQ(full[(y * 19 + x) * 3], stored[((18 - x) * 31 + y) * 3]) << kind.name();
      }
      const ImageRegion r = random_region(random, 19, 31);
      EXPECT_EQ(decode(decoder, bytes, {.roi = r}), slice(full, 19, 3, r)) << kind.name();
    }
  }
}

TEST(Png, DamageIsAnErrorAndTheNextImageIsRight) {
  ImageDecoder decoder;
  std::mt19937 random(6);
  for (const PngKind& kind : kKinds) {
    const ByteVector bytes = encode_png(kind, 64, 48, {.chunk_bytes = 500});
    const ByteVector whole = decode(decoder, bytes);
    for (size_t i = 0; i < 16; ++i) {
      const ByteVector cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(bytes.size() * i / 16));
      EXPECT_THROW(decode(decoder, cut), Error) << kind.name() << " " << i << "/16";
    }
    for (int i = 0; i < 60; ++i) {
      ByteVector bad = bytes;
      const size_t at = random() % bad.size();
      bad[at] ^= static_cast<uint8_t>(1 + random() % 255);
      try {
        EXPECT_EQ(decode(decoder, bad), whole) << kind.name() << ": byte " << at << " changed unnoticed";
      } catch (const Error&) {
      }
    }
    ASSERT_EQ(decode(decoder, bytes), whole) << kind.name();
  }
}

}  // namespace
}  // namespace headrace
