// Tests over the small files of tests/data/images: every format against references that Pillow made.
#include <gtest/gtest.h>

#include <cstdlib>
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

struct ImageFile {
  const char* name;
  int tolerance = 0;  // grey levels, where the format leaves rounding open
};

const ImageFile kFiles[] = {
    {"rgb.bmp"},
    {"gray.bmp"},
    {"bits.bmp"},
    {"palette.bmp"},
    {"rgba.bmp"},
    {"pal1.bmp"},
    {"pal4rle.bmp"},
    {"pal4rletrns.bmp"},
    {"rgb.ppm"},
    {"narrow.pbm"},
    {"hopper_1bit.pbm"},
    {"rgb_lzw.tif"},
    {"rgb_jpeg.tif"},
    {"rgba_deflate.tif"},
    {"palette.tif"},
    {"cmyk_packbits.tif"},
    {"bits_group4.tif"},
    {"flower-minisblack-02.tif"},
    {"flower-palette-04.tif", 1},
    {"g4_orientation_6.tif"},
    {"multipage.tiff"},
    {"lossy.webp"},
    {"lossless.webp"},
    {"alpha_exif6.webp"},
    {"animated.webp"},
    {"rgb.jp2"},
    {"rgb_lossy.j2k"},
    {"rgba.jp2"},
    {"exif8.png"},
    {"interlaced_palette.png"},
    {"l_trns.png"},
    {"padded_idat.png"},
    {"empty_gps_ifd.jpg"},
    {"jpg-cmyk-1.jpg"},
    {"jpg-progressive.jpg"},
    {"16bit-qtables.jpg"},
    {"restarts.jpg"},
    {"extraneous-data.jpg"},
    {"icc-after-SOF.jpg"},
    {"orientation_rectangle.jpg"},
};

ByteVector test_file(const std::string& name) {
  ByteVector bytes = read_file(std::string(HEADRACE_TEST_DATA) + "/images/" + name);
  EXPECT_FALSE(bytes.empty()) << name;
  return bytes;
}

bool is_built(const ByteVector& bytes) { return image_format_built(detect_image_format(bytes)); }

TEST(ImageFiles, EqualTheirReferences) {
  ImageDecoder decoder;
  for (const ImageFile& file : kFiles) {
    const ByteVector bytes = test_file(file.name);
    if (!is_built(bytes)) continue;
    const ByteVector reference = test_file(std::string(file.name) + ".ref.png");
    EXPECT_EQ(decoded_image_shape(read_image_header(bytes), {}), decoded_image_shape(read_image_header(reference), {}))
        << file.name;
    const ByteVector ours = decode(decoder, bytes);
    const ByteVector expected = decode(decoder, reference);
    ASSERT_EQ(ours.size(), expected.size()) << file.name;
    int worst = 0;
    for (size_t i = 0; i < ours.size(); ++i) worst = std::max(worst, std::abs(ours[i] - expected[i]));
    EXPECT_LE(worst, file.tolerance) << file.name;
  }
}

TEST(ImageFiles, RegionEqualsSliceOfTheFullImage) {
  ImageDecoder decoder;
  std::mt19937 random(3);
  for (const ImageFile& file : kFiles) {
    const ByteVector bytes = test_file(file.name);
    if (!is_built(bytes)) continue;
    for (const ImageColor color : {ImageColor::kRgb, ImageColor::kAny}) {
      const ByteVector full = decode(decoder, bytes, {.color = color});
      const Shape shape = decoded_image_shape(read_image_header(bytes), {.color = color});
      for (int i = 0; i < 10; ++i) {
        const ImageRegion r = random_region(random, static_cast<int>(shape[1]), static_cast<int>(shape[0]));
        ASSERT_EQ(decode(decoder, bytes, {.color = color, .roi = r}),
                  slice(full, static_cast<int>(shape[1]), static_cast<int>(shape[2]), r))
            << file.name << " x " << r.x << " y " << r.y << " " << r.width << "x" << r.height;
      }
    }
  }
}

// A file cut anywhere is an error, or complete but for bytes that pixels don't depend on.
TEST(ImageFiles, TruncationNeverGivesAPartialImage) {
  ImageDecoder decoder;
  for (const ImageFile& file : kFiles) {
    const ByteVector bytes = test_file(file.name);
    if (!is_built(bytes)) continue;
    const ByteVector whole = decode(decoder, bytes);
    for (size_t i = 0; i < 16; ++i) {
      const ByteVector cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(bytes.size() * i / 16));
      try {
        EXPECT_EQ(decode(decoder, cut), whole) << file.name << " cut at " << i << "/16";
      } catch (const Error&) {
      }
    }
    ASSERT_EQ(decode(decoder, bytes), whole) << file.name;
  }
}

// What a damaged file gives doesn't depend on the images before it.
TEST(ImageFiles, DamagedFilesGiveWhatTheyGiveAlone) {
  ImageDecoder used;
  std::mt19937 random(17);
  const auto outcome = [](ImageDecoder& decoder, const ByteVector& bytes) {
    try {
      if (decoded_image_shape(read_image_header(bytes), {}).volume() >= (1 << 22)) return ByteVector{};
      return decode(decoder, bytes);
    } catch (const Error&) {
      return ByteVector{};
    }
  };
  for (int round = 0; round < 30; ++round) {
    for (const ImageFile& file : kFiles) {
      ByteVector bad = test_file(file.name);
      if (!is_built(bad)) continue;
      for (int k = 0; k < round % 4; ++k) bad[random() % bad.size()] = static_cast<uint8_t>(random());
      ImageDecoder fresh;
      ASSERT_EQ(outcome(used, bad), outcome(fresh, bad)) << file.name << " in round " << round;
    }
  }
}

TEST(ImageFiles, CorruptionNeverCrashes) {
  ImageDecoder decoder;
  std::mt19937 random(13);
  for (const ImageFile& file : kFiles) {
    const ByteVector bytes = test_file(file.name);
    if (!is_built(bytes)) continue;
    const ByteVector whole = decode(decoder, bytes);
    for (int i = 0; i < 40; ++i) {
      ByteVector bad = bytes;
      // Headers are where the damage is interesting.
      const size_t range = i % 2 ? bad.size() : std::min<size_t>(bad.size(), 120);
      for (int k = 0; k < 2; ++k) bad[random() % range] = static_cast<uint8_t>(random());
      try {
        const ImageHeader header = read_image_header(bad);
        if (decoded_image_shape(header, {}).volume() < (1 << 22)) decode(decoder, bad);
      } catch (const Error&) {
      }
    }
    ASSERT_EQ(decode(decoder, bytes), whole) << file.name;
  }
}

TEST(ImageFiles, SixteenBitSamplesAreExact) {
  ImageDecoder decoder;
  for (const char* name : {"ramp16.pgm", "ramp16.tif", "ramp16.jp2"}) {
    const ByteVector bytes = test_file(name);
    if (!is_built(bytes)) continue;
    const ImageHeader header = read_image_header(bytes);
    EXPECT_EQ(header.bit_depth, 16) << name;
    EXPECT_EQ(header.channels, 1) << name;
    const ByteVector wide = decode(decoder, bytes, {.color = ImageColor::kAny, .dtype = DType::kUInt16});
    const ByteVector narrow = decode(decoder, bytes, {.color = ImageColor::kAny});
    for (int y = 0, i = 0; y < header.height; ++y) {
      for (int x = 0; x < header.width; ++x, ++i) {
        uint16_t value;
        std::memcpy(&value, &wide[static_cast<size_t>(i) * 2], 2);
        const uint16_t expected = static_cast<uint16_t>(x * 1777 + y * 2851);
        ASSERT_EQ(value, expected) << name << " " << x << " " << y;
        ASSERT_EQ(narrow[static_cast<size_t>(i)], static_cast<uint8_t>(expected / 257.0 + 0.5)) << name;
      }
    }
  }
}

TEST(ImageFiles, HeadersStateWhatAnyGives) {
  const struct {
    const char* name;
    ImageFormat format;
    int channels, orientation;
  } headers[] = {
      {"rgb.bmp", ImageFormat::kBmp, 3, 1},
      {"rgba.bmp", ImageFormat::kBmp, 3, 1},
      {"narrow.pbm", ImageFormat::kPnm, 1, 1},
      {"rgba_deflate.tif", ImageFormat::kTiff, 4, 1},
      {"bits_group4.tif", ImageFormat::kTiff, 1, 5},
      {"cmyk_packbits.tif", ImageFormat::kTiff, 3, 1},
      {"lossy.webp", ImageFormat::kWebp, 3, 1},
      {"alpha_exif6.webp", ImageFormat::kWebp, 4, 6},
      {"rgba.jp2", ImageFormat::kJpeg2000, 4, 1},
      {"rgb_lossy.j2k", ImageFormat::kJpeg2000, 3, 1},
      {"exif8.png", ImageFormat::kPng, 3, 8},
      {"jpg-cmyk-1.jpg", ImageFormat::kJpeg, 3, 1},
      {"empty_gps_ifd.jpg", ImageFormat::kJpeg, 3, 6},
  };
  for (const auto& expected : headers) {
    const ByteVector bytes = test_file(expected.name);
    if (!is_built(bytes)) continue;
    const ImageHeader header = read_image_header(bytes);
    EXPECT_EQ(header.format, expected.format) << expected.name;
    EXPECT_EQ(header.channels, expected.channels) << expected.name;
    EXPECT_EQ(header.orientation, expected.orientation) << expected.name;
  }
}

ByteVector bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

TEST(Pnm, PlainFormsCommentsAndScaling) {
  ImageDecoder decoder;
  const ImageDecodeOptions any = {.color = ImageColor::kAny};
  EXPECT_EQ(decode(decoder, bytes_of("P1 # a comment\n3 2\n101\n0 1 0"), any), (ByteVector{0, 255, 0, 255, 0, 255}));
  EXPECT_EQ(decode(decoder, bytes_of("P2\n#x\n2 1 #y\n10\n0 5"), any), (ByteVector{0, 128}));
  EXPECT_EQ(decode(decoder, bytes_of("P3 1 1 255 1 2 3"), any), (ByteVector{1, 2, 3}));
  EXPECT_EQ(decode(decoder, bytes_of("P3 1 1 255 1 2 3"), {.color = ImageColor::kBgr}), (ByteVector{3, 2, 1}));
  EXPECT_EQ(decode(decoder, bytes_of("P5 2 1 3 \x01\x03"), any), (ByteVector{85, 255}));
  for (const char* bad : {"P2 2 1 10 0", "P2 2 1 10 0 11", "P2 -2 1 10 0 1", "P5 2 2 255 ab", "P5 2 1 70000 ab",
                          "P5 0 1 255 ", "P5 70000 70000 255 ab", "P6 1 1"}) {
    EXPECT_THROW(decode(decoder, bytes_of(bad), any), Error) << bad;
  }
}

}  // namespace
}  // namespace headrace
