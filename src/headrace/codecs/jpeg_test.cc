// Tests of the JPEG decoder. Oracle: libjpeg-turbo called plainly, row by row, with its defaults.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <jpeglib.h>

#include "codecs/codec_testing.h"
#include "codecs/image_codec.h"
#include "core/error.h"

namespace headrace {
namespace {

using namespace testing_images;

struct JpegKind {
  const char* name;
  int components = 3;
  int h = 1;  // sampling of the first component; the others have 1 x 1
  int v = 1;
  bool progressive = false;
  bool arithmetic = false;
  int restart = 0;
  bool rgb = false;  // stored as RGB, not YCbCr
};

const JpegKind kKinds[] = {
    {"444"},
    {"422", 3, 2, 1},
    {"420", 3, 2, 2},
    {"440", 3, 1, 2},
    {"411", 3, 4, 1},
    {"410", 3, 4, 2},
    {"gray", 1},
    {"gray, sampling 2x2", 1, 2, 2},
    {"420 progressive", 3, 2, 2, true},
    {"444 progressive", 3, 1, 1, true},
    {"420 arithmetic", 3, 2, 2, false, true},
    {"420 restart", 3, 2, 2, false, false, 3},
    {"rgb", 3, 1, 1, false, false, 0, true},
};

// Smooth waves with noise and saturated patches, so that chroma edges and clamping matter.
ByteVector test_pixels(int width, int height, int channels, uint32_t seed) {
  std::mt19937 random(seed);
  ByteVector pixels(static_cast<size_t>(width) * height * channels);
  for (int y = 0, i = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c, ++i) {
        const bool patch = (x / 7 + y / 5 + c) % 4 == 0;
        const int value = 128 + (x * (3 + c)) % 90 - (y * (2 + c)) % 70 + static_cast<int>(random() % 20);
        pixels[i] = patch ? ((x + y + c) % 2 ? 255 : 0) : static_cast<uint8_t>(std::clamp(value, 0, 255));
      }
    }
  }
  return pixels;
}

ByteVector exif_block(int orientation) {
  const uint8_t value = static_cast<uint8_t>(orientation);
  return {'E',  'x',  'i', 'f', 0, 0, 'M', 'M', 0, 42,    0, 0, 0, 8, 0, 1,
          0x01, 0x12, 0,   3,   0, 0, 0,   1,   0, value, 0, 0, 0, 0, 0, 0};
}

ByteVector encode_jpeg(const JpegKind& kind, int width, int height, int orientation = 1, uint32_t seed = 1) {
  jpeg_compress_struct cinfo;
  jpeg_error_mgr error;
  cinfo.err = jpeg_std_error(&error);
  jpeg_create_compress(&cinfo);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &data, &size);
  cinfo.image_width = static_cast<JDIMENSION>(width);
  cinfo.image_height = static_cast<JDIMENSION>(height);
  cinfo.input_components = kind.components;
  cinfo.in_color_space = kind.components == 1 ? JCS_GRAYSCALE : kind.components == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&cinfo);
  if (kind.rgb) jpeg_set_colorspace(&cinfo, JCS_RGB);
  cinfo.comp_info[0].h_samp_factor = kind.h;
  cinfo.comp_info[0].v_samp_factor = kind.v;
  jpeg_set_quality(&cinfo, 85, TRUE);
  if (kind.progressive) jpeg_simple_progression(&cinfo);
  cinfo.arith_code = kind.arithmetic;
  cinfo.restart_interval = static_cast<unsigned>(kind.restart);
  jpeg_start_compress(&cinfo, TRUE);
  if (orientation != 1) {
    const ByteVector exif = exif_block(orientation);
    jpeg_write_marker(&cinfo, JPEG_APP0 + 1, exif.data(), static_cast<unsigned>(exif.size()));
  }
  const ByteVector pixels = test_pixels(width, height, kind.components, seed);
  for (int y = 0; y < height; ++y) {
    JSAMPROW row = const_cast<JSAMPROW>(&pixels[static_cast<size_t>(y) * width * kind.components]);
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  ByteVector bytes(data, data + size);
  std::free(data);
  return bytes;
}

ByteVector oracle_decode(const ByteVector& bytes, J_COLOR_SPACE color) {
  jpeg_decompress_struct cinfo;
  jpeg_error_mgr error;
  cinfo.err = jpeg_std_error(&error);
  jpeg_create_decompress(&cinfo);
  jpeg_mem_src(&cinfo, bytes.data(), bytes.size());
  jpeg_read_header(&cinfo, TRUE);
  cinfo.out_color_space = color;
  jpeg_start_decompress(&cinfo);
  const size_t stride = static_cast<size_t>(cinfo.output_width) * cinfo.output_components;
  ByteVector pixels(stride * cinfo.output_height);
  while (cinfo.output_scanline < cinfo.output_height) {
    JSAMPROW row = &pixels[stride * cinfo.output_scanline];
    jpeg_read_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_decompress(&cinfo);
  jpeg_destroy_decompress(&cinfo);
  return pixels;
}

// Applies an EXIF orientation by its definition: where row 0 and column 0 of the stored image appear.
ByteVector orient(const ByteVector& image, int width, int height, int orientation) {
  const int out_width = orientation >= 5 ? height : width;
  ByteVector out(image.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      int to_x = 0, to_y = 0;
      switch (orientation) {
        case 1: to_x = x, to_y = y; break;                           // row 0 top, column 0 left
        case 2: to_x = width - 1 - x, to_y = y; break;               // top, right
        case 3: to_x = width - 1 - x, to_y = height - 1 - y; break;  // bottom, right
        case 4: to_x = x, to_y = height - 1 - y; break;              // bottom, left
        case 5: to_x = y, to_y = x; break;                           // left, top
        case 6: to_x = height - 1 - y, to_y = x; break;              // right, top
        case 7: to_x = height - 1 - y, to_y = width - 1 - x; break;  // right, bottom
        case 8: to_x = y, to_y = width - 1 - x; break;               // left, bottom
      }
      std::memcpy(&out[(static_cast<size_t>(to_y) * out_width + to_x) * 3],
                  &image[(static_cast<size_t>(y) * width + x) * 3], 3);
    }
  }
  return out;
}

std::string describe(const JpegKind& kind, const ImageRegion& r) {
  return fmt::format("{}: x {} y {} {}x{}", kind.name, r.x, r.y, r.width, r.height);
}

TEST(Jpeg, EqualsLibjpegTurboForEverySampling) {
  ImageDecoder decoder;
  for (const JpegKind& kind : kKinds) {
    for (const auto& [width, height] : {std::pair{63, 47}, {1, 1}, {8, 8}, {17, 1}, {1, 33}, {28, 28}, {130, 97}}) {
      const ByteVector bytes = encode_jpeg(kind, width, height);
      const ImageHeader header = read_image_header(bytes);
      EXPECT_EQ(header.width, width);
      EXPECT_EQ(header.height, height);
      EXPECT_EQ(header.channels, kind.components);
      const std::string where = fmt::format("{} {}x{}", kind.name, width, height);
      EXPECT_EQ(decode(decoder, bytes), oracle_decode(bytes, JCS_RGB)) << where;
      EXPECT_EQ(decode(decoder, bytes, {.color = ImageColor::kBgr}), oracle_decode(bytes, JCS_EXT_BGR)) << where;
      EXPECT_EQ(decode(decoder, bytes, {.color = ImageColor::kGray}), oracle_decode(bytes, JCS_GRAYSCALE)) << where;
      EXPECT_EQ(decode(decoder, bytes, {.color = ImageColor::kAny}),
                oracle_decode(bytes, kind.components == 1 ? JCS_GRAYSCALE : JCS_RGB))
          << where;
    }
  }
}

TEST(Jpeg, RegionEqualsSliceOfTheFullImage) {
  constexpr int kWidth = 211, kHeight = 157;
  ImageDecoder decoder;
  std::mt19937 random(5);
  for (const JpegKind& kind : kKinds) {
    const ByteVector bytes = encode_jpeg(kind, kWidth, kHeight);
    for (const ImageColor color : {ImageColor::kRgb, ImageColor::kGray}) {
      const ByteVector full = decode(decoder, bytes, {.color = color});
      const int channels = color == ImageColor::kGray ? 1 : 3;
      for (int i = 0; i < 60; ++i) {
        ImageRegion r = random_region(random, kWidth, kHeight);
        if (i % 2) {  // small ones, where both the columns and the rows are cut
          r.width = std::min(r.width, 20);
          r.height = std::min(r.height, 20);
        }
        ASSERT_EQ(decode(decoder, bytes, {.color = color, .roi = r}), slice(full, kWidth, channels, r))
            << describe(kind, r);
      }
    }
  }
}

TEST(Jpeg, AppliesOrientationAlsoToRegions) {
  constexpr int kWidth = 61, kHeight = 43;
  ImageDecoder decoder;
  std::mt19937 random(7);
  const JpegKind kind = {"420", 3, 2, 2};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const ByteVector bytes = encode_jpeg(kind, kWidth, kHeight, orientation);
    const ImageHeader header = read_image_header(bytes);
    EXPECT_EQ(header.orientation, orientation);
    const int width = orientation >= 5 ? kHeight : kWidth;
    const int height = orientation >= 5 ? kWidth : kHeight;
    EXPECT_EQ(decoded_image_shape(header, {}), Shape({height, width, 3}));
    const ByteVector stored = oracle_decode(bytes, JCS_RGB);
    const ByteVector oriented = orient(stored, kWidth, kHeight, orientation);
    EXPECT_EQ(decode(decoder, bytes), oriented) << orientation;
    EXPECT_EQ(decode(decoder, bytes, {.adjust_orientation = false}), stored) << orientation;
    for (int i = 0; i < 40; ++i) {
      const ImageRegion r = random_region(random, width, height);
      ASSERT_EQ(decode(decoder, bytes, {.roi = r}), slice(oriented, width, 3, r))
          << orientation << " " << describe(kind, r);
    }
  }
}

TEST(Jpeg, CmykIsInvertedAndScaledByBlack) {
  ImageDecoder decoder;
  const ByteVector bytes = encode_jpeg({"cmyk", 4}, 19, 13);
  const ByteVector stored = oracle_decode(bytes, JCS_CMYK);
  const ByteVector rgb = decode(decoder, bytes);
  ASSERT_EQ(rgb.size(), stored.size() / 4 * 3);
  for (size_t i = 0; i < rgb.size() / 3; ++i) {
    for (int c = 0; c < 3; ++c) {
      const double ink = (255 - stored[i * 4 + c]) / 255.0;
      EXPECT_NEAR(rgb[i * 3 + c], stored[i * 4 + 3] * (1 - ink), 0.51);
    }
  }
  EXPECT_EQ(decode(decoder, bytes, {.roi = ImageRegion{3, 2, 5, 7}}), slice(rgb, 19, 3, {3, 2, 5, 7}));
}

TEST(Jpeg, ScalesToTheTypeAsked) {
  ImageDecoder decoder;
  const ByteVector bytes = encode_jpeg({"444"}, 16, 8, /*orientation=*/6);
  const ByteVector u8 = decode(decoder, bytes);
  const ByteVector as_float = decode(decoder, bytes, {.dtype = DType::kFloat32});
  const ByteVector as_i16 = decode(decoder, bytes, {.dtype = DType::kInt16});
  const ByteVector as_u16 = decode(decoder, bytes, {.dtype = DType::kUInt16});
  for (size_t i = 0; i < u8.size(); ++i) {
    float f;
    int16_t s;
    uint16_t u;
    std::memcpy(&f, &as_float[i * 4], 4);
    std::memcpy(&s, &as_i16[i * 2], 2);
    std::memcpy(&u, &as_u16[i * 2], 2);
    EXPECT_EQ(f, static_cast<float>(u8[i]) / 255.0f);
    EXPECT_EQ(s, static_cast<int16_t>(u8[i] * 32767.0 / 255.0 + 0.5));
    EXPECT_EQ(u, u8[i] * 257);
  }
  try {
    decode(decoder, bytes, {.dtype = DType::kFloat16});
    ADD_FAILURE() << "float16 was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  }
}

TEST(Jpeg, FastDctIsOffBySomeLevelsOnly) {
  ImageDecoder decoder;
  const ByteVector bytes = encode_jpeg({"420", 3, 2, 2}, 63, 47);
  const ByteVector exact = decode(decoder, bytes);
  const ByteVector fast = decode(decoder, bytes, {.use_fast_idct = true});
  int worst = 0;
  for (size_t i = 0; i < exact.size(); ++i) worst = std::max(worst, std::abs(exact[i] - fast[i]));
  EXPECT_GT(worst, 0);
  EXPECT_LE(worst, 12);
  EXPECT_EQ(decode(decoder, bytes), exact) << "the option stuck to the decoder";
}

TEST(Jpeg, RegionOutsideTheImageIsAnError) {
  ImageDecoder decoder;
  const ByteVector bytes = encode_jpeg({"444"}, 16, 8);
  for (const ImageRegion& r : {ImageRegion{-1, 0, 4, 4}, {0, 0, 17, 4}, {10, 0, 7, 4}, {0, 7, 4, 2}, {0, 0, -1, 3}}) {
    EXPECT_THROW(decode(decoder, bytes, {.roi = r}), Error);
  }
  EXPECT_TRUE(decode(decoder, bytes, {.roi = ImageRegion{4, 4, 0, 3}}).empty());
}

// Cut data never gives a partial image, and the decoder is as good as new after it.
TEST(Jpeg, TruncationIsAnErrorAndTheNextImageIsRight) {
  ImageDecoder decoder;
  for (const JpegKind& kind : kKinds) {
    const ByteVector bytes = encode_jpeg(kind, 96, 80);
    const ByteVector whole = decode(decoder, bytes);
    for (size_t i = 0; i < 16; ++i) {
      const ByteVector cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(bytes.size() * i / 16));
      EXPECT_THROW(decode(decoder, cut), Error) << kind.name << " " << i << "/16";
      ASSERT_EQ(decode(decoder, bytes), whole) << kind.name << " after " << i << "/16";
    }
  }
}

// Changed bytes give an error or an image, nothing worse (the sanitizer builds look closer).
TEST(Jpeg, CorruptionNeverCrashes) {
  ImageDecoder decoder;
  std::mt19937 random(11);
  for (const JpegKind& kind : kKinds) {
    const ByteVector bytes = encode_jpeg(kind, 64, 48);
    const ByteVector whole = decode(decoder, bytes);
    for (int i = 0; i < 100; ++i) {
      ByteVector bad = bytes;
      for (int k = 0; k < 3; ++k) bad[random() % bad.size()] = static_cast<uint8_t>(random());
      try {
        decode(decoder, bad);
      } catch (const Error&) {
      }
    }
    ASSERT_EQ(decode(decoder, bytes), whole) << kind.name;
  }
}

TEST(Jpeg, HugeClaimOfASmallFileIsRefusedByTheHeader) {
  ByteVector bytes = encode_jpeg({"444"}, 16, 8);
  for (size_t i = 0; i + 9 < bytes.size(); ++i) {
    if (bytes[i] == 0xff && bytes[i + 1] == 0xc0) {
      bytes[i + 5] = bytes[i + 7] = 0xff;
      bytes[i + 6] = bytes[i + 8] = 0xdc;
      break;
    }
  }
  try {
    read_image_header(bytes);
    ADD_FAILURE() << "65500 x 65500 was accepted";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("65500 x 65500"), std::string::npos) << error.message();
  }
}

TEST(Jpeg, UnsupportedKindsSaySo) {
  ByteVector bytes = encode_jpeg({"444"}, 16, 8);
  for (size_t i = 0; i + 9 < bytes.size(); ++i) {
    if (bytes[i] == 0xff && bytes[i + 1] == 0xc0) bytes[i + 4] = 12;
  }
  ImageDecoder decoder;
  try {
    decode(decoder, bytes);
    ADD_FAILURE() << "a 12-bit JPEG was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  }
}

TEST(ImageCodec, BytesOfNoFormatAreNamed) {
  EXPECT_THROW(read_image_header({}), Error);
  const ByteVector text = {'v', 'e', 'r', 's', 'i', 'o', 'n', ' ', 'h', 't'};
  try {
    read_image_header(text);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("no known image format"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace headrace
