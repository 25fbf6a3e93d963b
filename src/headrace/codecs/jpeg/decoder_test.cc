// Tests of the own JPEG decoder on sound files. Oracle: libjpeg-turbo.
#include "codecs/jpeg/decoder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>

#include "codecs/jpeg/jpeg_testing.h"
#include "hwy/targets.h"

namespace headrace::jpeg {
namespace {

using testing_images::random_region;
using testing_images::read_file;
using testing_images::slice;

constexpr ImageColor kColors[] = {ImageColor::kRgb, ImageColor::kBgr, ImageColor::kGray, ImageColor::kYCbCr,
                                  ImageColor::kAny};

const Encoding kSamplings[] = {
    {.h = 1, .v = 1},
    {.h = 2, .v = 1},
    {.h = 2, .v = 2},
    {.h = 1, .v = 2},
    {.h = 4, .v = 1},
    {.rgb = true},
    {.components = 1},
    {.components = 1, .h = 2, .v = 2},
    {.components = 4},
    {.components = 4, .ycck = true},
    {.components = 4, .h = 2, .ycck = true},
    {.components = 4, .h = 2, .v = 2, .ycck = true},
    {.components = 4, .h = 1, .v = 2},
    {.components = 4, .h = 4},
};

std::string describe(const Encoding& e) {
  return fmt::format("{} components {}x{} quality {} restart {} rgb {} optimize {}: {} x {}", e.components, e.h, e.v,
                     e.quality, e.restart, e.rgb, e.optimize, e.width, e.height);
}

std::string describe(const ImageRegion& r) { return fmt::format("x {} y {} {}x{}", r.x, r.y, r.width, r.height); }

bool takes(const Encoding& e, ImageColor color) { return !(e.rgb && color == ImageColor::kGray); }

void expect_equal(Pair& pair, const ByteVector& bytes, const ImageDecodeOptions& options, const std::string& where) {
  const auto own = pair.own(bytes, options);
  ASSERT_TRUE(own.has_value()) << where;
  ASSERT_TRUE(*own == *pair.turbo(bytes, options)) << where;
}

TEST(OwnJpeg, EqualsLibjpegTurboForOddSizesQualitiesAndRestarts) {
  Pair pair;
  uint32_t seed = 0;
  for (Encoding e : kSamplings) {
    for (e.width = 1; e.width <= 40; ++e.width) {
      e.height = 1 + (e.width * 7 + static_cast<int>(seed)) % 40;
      e.quality = std::array{50, 75, 90, 95, 100}[seed % 5];
      e.restart = std::array{0, 0, 1, 3, 7}[seed / 5 % 5];
      e.optimize = seed % 3 == 0;
      e.seed = ++seed;
      const ByteVector bytes = encode(e);
      for (const ImageColor color : kColors) {
        if (!takes(e, color)) continue;
        ASSERT_NO_FATAL_FAILURE(expect_equal(pair, bytes, {.color = color}, describe(e)));
      }
      std::swap(e.width, e.height);
      ASSERT_NO_FATAL_FAILURE(expect_equal(pair, encode(e), {}, describe(e)));
      std::swap(e.width, e.height);
    }
  }
}

TEST(OwnJpeg, EqualsLibjpegTurboForEveryQualityOfEverySampling) {
  Pair pair;
  for (Encoding e : kSamplings) {
    e.width = 83;
    e.height = 61;
    for (const int quality : {1, 20, 50, 75, 90, 95, 100}) {
      for (const int restart : {0, 1, 5}) {
        e.quality = quality;
        e.restart = restart;
        ASSERT_NO_FATAL_FAILURE(expect_equal(pair, encode(e), {}, describe(e)));
      }
    }
  }
}

TEST(OwnJpeg, RegionsEqualSlicesOfTheImage) {
  std::mt19937 random(3);
  Pair pair;
  for (Encoding e : kSamplings) {
    e.width = 211;
    e.height = 157;
    for (const int restart : {0, 5}) {
      e.restart = restart;
      const ByteVector bytes = encode(e);
      for (const ImageColor color : {ImageColor::kRgb, ImageColor::kGray}) {
        if (!takes(e, color)) continue;
        const ByteVector full = *pair.turbo(bytes, {.color = color});
        for (int i = 0; i < 60; ++i) {
          ImageRegion r = random_region(random, e.width, e.height);
          if (i % 2) r.width = std::min(r.width, 20), r.height = std::min(r.height, 20);
          const auto own = pair.own(bytes, {.color = color, .roi = r});
          ASSERT_TRUE(own && *own == slice(full, e.width, color == ImageColor::kGray ? 1 : 3, r))
              << describe(e) << ", " << describe(r);
        }
      }
    }
  }
}

TEST(OwnJpeg, OrientationAndTypesGoThroughTheSink) {
  Pair pair;
  ByteVector bytes = encode({.width = 61, .height = 43, .h = 2, .v = 2});
  const ByteVector exif = {0xff, 0xe1, 0, 34,   'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8,
                           0,    1,    1, 0x12, 0,   3,   0,   0,   0, 1, 0,   1,   0, 0,  0, 0, 0, 0};
  bytes.insert(bytes.begin() + 2, exif.begin(), exif.end());
  for (uint8_t orientation = 1; orientation <= 8; ++orientation) {
    bytes[31] = orientation;
    ASSERT_EQ(read_image_header(bytes).orientation, orientation);
    ASSERT_NO_FATAL_FAILURE(expect_equal(pair, bytes, {}, fmt::format("{}", orientation)));
    ASSERT_NO_FATAL_FAILURE(expect_equal(pair, bytes, {.roi = ImageRegion{5, 7, 30, 31}}, "region"));
  }
}

// Sound files of any kind under a folder: equal where our decoder takes them. Returns how many it took.
int compare_folder(const std::filesystem::path& folder, int regions) {
  Pair pair;
  std::mt19937 random(17);
  int taken = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string ending = entry.path().extension();
    if (ending != ".jpg" && ending != ".jpeg" && ending != ".JPEG" && ending != ".JPG") continue;
    const ByteVector bytes = read_file(entry.path());
    const auto own = pair.own(bytes);
    if (!own) continue;
    const auto turbo = pair.turbo(bytes);
    EXPECT_TRUE(turbo && *own == *turbo) << entry.path();
    ++taken;
    const ImageHeader header = read_image_header(bytes);
    for (int i = 0; turbo && i < regions; ++i) {
      const ImageRegion r = random_region(random, header.width, header.height);
      const auto part = pair.own(bytes, {.adjust_orientation = false, .roi = r});
      const ByteVector full = i == 0 ? *pair.turbo(bytes, {.adjust_orientation = false}) : ByteVector();
      static ByteVector stored;
      if (i == 0) stored = full;
      EXPECT_TRUE(part && *part == slice(stored, header.width, 3, r)) << entry.path() << " " << describe(r);
    }
  }
  return taken;
}

TEST(OwnJpeg, EqualsLibjpegTurboOnTheFilesOfTheRepository) {
  EXPECT_GT(compare_folder(HEADRACE_TEST_DATA "/images", 20), 3);
}

// Files that are too large for the repository: the folder that HEADRACE_TEST_IMAGES names.
TEST(OwnJpeg, EqualsLibjpegTurboOnPhotos) {
  const char* folder = std::getenv("HEADRACE_TEST_IMAGES");
  if (!folder) GTEST_SKIP() << "HEADRACE_TEST_IMAGES names no folder";
  const int taken = compare_folder(folder, 50);
  EXPECT_GT(taken, 0);
  RecordProperty("taken", taken);
  fmt::print("{} files compared\n", taken);
}

// The images of an IDX file that is not compressed, which HEADRACE_TEST_DIGITS names, as JPEG files.
TEST(OwnJpeg, EqualsLibjpegTurboOnDigits) {
  const char* path = std::getenv("HEADRACE_TEST_DIGITS");
  if (!path) GTEST_SKIP() << "HEADRACE_TEST_DIGITS names no file";
  const ByteVector file = read_file(path);
  constexpr int kSide = 28, kHeader = 16;
  Pair pair;
  std::mt19937 random(19);
  int compared = 0;
  for (size_t at = kHeader; at + kSide * kSide <= file.size(); at += kSide * kSide) {
    const auto image = file.begin() + static_cast<ptrdiff_t>(at);
    Encoding e{.width = kSide, .height = kSide, .components = 1};
    for (const int quality : {50, 75, 90, 95, 100}) {
      e.quality = quality;
      const ByteVector bytes = encode(e, ByteVector(image, image + kSide * kSide));
      const ByteVector full = *pair.turbo(bytes, {.color = ImageColor::kGray});
      const auto own = pair.own(bytes, {.color = ImageColor::kGray});
      ASSERT_TRUE(own && *own == full) << compared << " " << describe(e);
      for (int i = 0; i < 50; ++i) {
        const ImageRegion r = random_region(random, kSide, kSide);
        const auto part = pair.own(bytes, {.color = ImageColor::kGray, .roi = r});
        ASSERT_TRUE(part && *part == slice(full, kSide, 1, r)) << compared << " " << describe(e) << " " << describe(r);
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 0);
  fmt::print("{} files compared\n", compared);
}

TEST(OwnJpeg, EveryVectorTargetGivesTheSame) {
  Pair pair;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (Encoding e : kSamplings) {
      for (e.width = 30; e.width <= 70; e.width += 13) {
        e.height = 41;
        const std::string where = fmt::format("{} {}", hwy::TargetName(target), describe(e));
        ASSERT_NO_FATAL_FAILURE(expect_equal(pair, encode(e), {}, where));
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace
}  // namespace headrace::jpeg
