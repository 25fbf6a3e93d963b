// noise.salt_and_pepper: frequencies, whole pixels in each layout, values, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_tester.h"
#include "ops/random/distribution_testing.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Each;

TestTensor gray(const Shape& shape, const Layout& layout) {
  return TestTensor::of<uint8_t>(shape, std::vector<uint8_t>(shape.volume(), 100), layout);
}

TEST(SaltAndPepper, HasTheFrequenciesAsked) {
  constexpr double kPixels = 300 * 200;
  const TestTensor out =
      OpTester("noise.salt_and_pepper", {{"prob", 0.3}, {"salt_vs_pepper", 0.2}}).run({gray({300, 200, 1}, "HWC")})[0];
  std::vector<double> counts(256), expected(256);
  for (const uint8_t x : out.values<uint8_t>()) ++counts[x];
  expected[0] = 0.3 * 0.8 * kPixels;
  expected[100] = 0.7 * kPixels;
  expected[255] = 0.3 * 0.2 * kPixels;
  EXPECT_LT(chi_square_excess(counts, expected), 5);
}

// Number of pixels whose values differ; a pixel is [outer][channels][inner] along channels.
int mixed_pixels(const std::vector<uint8_t>& values, int channels, int inner) {
  int mixed = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t first = i / (channels * inner) * channels * inner + i % inner;
    mixed += values[i] != values[first];
  }
  return mixed;
}

TEST(SaltAndPepper, ReplacesWholePixels) {
  struct Case {
    Shape shape;
    const char* layout;
    int channels, inner;
  };
  const Case cases[] = {{{20, 30, 3}, "HWC", 3, 1},
                        {{3, 20, 30}, "CHW", 3, 600},
                        {{20, 3, 30}, "HCW", 3, 30},
                        {{20, 30, 3}, "", 3, 1},
                        {{40}, "", 40, 1},
                        {{2, 10, 30, 3}, "FHWC", 3, 1},
                        {{2, 3, 10, 30}, "FCHW", 3, 300}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.layout);
    OpTester whole("noise.salt_and_pepper", {{"prob", 0.5}});
    EXPECT_EQ(mixed_pixels(whole.run({gray(c.shape, c.layout)})[0].values<uint8_t>(), c.channels, c.inner), 0);
    OpTester single("noise.salt_and_pepper", {{"prob", 0.5}, {"per_channel", true}});
    EXPECT_GT(mixed_pixels(single.run({gray(c.shape, c.layout)})[0].values<uint8_t>(), c.channels, c.inner), 0);
  }
  // A layout without channels: each value is a pixel.
  EXPECT_GT(
      mixed_pixels(OpTester("noise.salt_and_pepper", {{"prob", 0.5}}).run({gray({20, 30}, "HW")})[0].values<uint8_t>(),
                   30, 1),
      0);
}

TEST(SaltAndPepper, ValuesAreTheEndsOfTheTypeByDefault) {
  OpTester op("noise.salt_and_pepper", {{"prob", 1.0}});
  EXPECT_THAT(op.run({TestTensor::of<int16_t>({50, 1}, std::vector<int16_t>(50))})[0].values<int16_t>(),
              AllOf(Each(AnyOf(-32768, 32767)), testing::Contains(-32768), testing::Contains(32767)));
  EXPECT_THAT(op.run({TestTensor::of<float>({50, 1}, std::vector<float>(50))})[0].values<float>(),
              AllOf(Each(AnyOf(-1.0f, 1.0f)), testing::Contains(-1.0f), testing::Contains(1.0f)));
  OpTester given("noise.salt_and_pepper", {{"prob", 1.0}, {"salt_val", 300.0}, {"pepper_val", 2.5}});
  EXPECT_THAT(given.run({gray({50, 1}, "")})[0].values<uint8_t>(), Each(AnyOf(255, 3)));
}

TEST(SaltAndPepper, ProbabilityZeroChangesNothing) {
  EXPECT_THAT(OpTester("noise.salt_and_pepper", {{"prob", 0.0}}).run({gray({9, 9, 3}, "HWC")})[0].values<uint8_t>(),
              Each(100));
  EXPECT_TRUE(OpTester("noise.salt_and_pepper").run({gray({0, 9, 3}, "HWC")})[0].bytes.empty());
}

TEST(SaltAndPepper, RefusesWhatCannotBe) {
  for (const char* arg : {"prob", "salt_vs_pepper"}) {
    for (const double bad : {-1.0, 2.0}) {
      EXPECT_THROW(OpTester("noise.salt_and_pepper", {{arg, bad}}).run({gray({2, 2, 1}, "HWC")}), Error) << arg << bad;
    }
  }
  EXPECT_THROW(OpTester("noise.salt_and_pepper").run({TestTensor::of<bool>({1}, {true})}), Error);
}

}  // namespace
}  // namespace headrace
