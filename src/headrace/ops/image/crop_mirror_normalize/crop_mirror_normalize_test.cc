// Shapes, layouts and values of crop_mirror_normalize against loops over the output's coordinates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_tester.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Extents by letter.
int64_t extent_of(char axis) { return axis == 'F' ? 2 : axis == 'D' ? 3 : axis == 'H' ? 5 : axis == 'W' ? 7 : 3; }

TestTensor image(const std::string& layout) {
  Shape shape;
  for (const char axis : layout) shape.push_back(extent_of(axis));
  std::vector<uint8_t> values(static_cast<size_t>(shape.volume()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 37 + i / 11);
  return TestTensor::of(shape, values, Layout(std::string_view(layout)));
}

// The offset of the coordinates `at` (by letter of `letters`) in a dense tensor.
size_t offset(const std::string& letters, const Shape& shape, const std::map<char, int64_t>& at) {
  int64_t result = 0;
  for (size_t i = 0; i < letters.size(); ++i) result = result * shape[static_cast<int>(i)] + at.at(letters[i]);
  return static_cast<size_t>(result);
}

// Crop (2, 4) at (row 1, column 2), mirror, mean by channel, every pair of layouts of the same letters.
void check_layouts(const std::string& from, const std::string& to, bool mirror) {
  const TestTensor in = image(from);
  OpTester op("crop_mirror_normalize", {{"crop", std::vector<double>{2, 4}},
                                        {"crop_pos_y", 1.0 / 3},
                                        {"crop_pos_x", 2.0 / 3},
                                        {"mirror", mirror ? 1 : 0},
                                        {"mean", std::vector<double>{1, 2, 3}},
                                        {"std", 2.0},
                                        {"shift", 0.5},
                                        {"output_layout", to}});
  const TestTensor out = op.run({in})[0];
  const std::vector<float> values = out.values<float>();
  const std::vector<uint8_t> pixels = in.values<uint8_t>();
  std::map<char, int64_t> at;
  const int64_t frames = from.find('F') != std::string::npos ? 2 : 1,
                depth = from.find('D') != std::string::npos ? 3 : 1;
  for (int64_t i = 0; i < frames * depth * 2 * 4 * 3; ++i) {
    at = {{'C', i % 3}, {'W', i / 3 % 4}, {'H', i / 12 % 2}, {'D', i / 24 % depth}, {'F', i / 24 / depth}};
    const float value = values[offset(to, out.shape, at)];
    const int64_t c = at['C'];
    at['H'] += 1;
    at['W'] = 2 + (mirror ? 3 - at['W'] : at['W']);
    const float pixel = pixels[offset(from, in.shape, at)];
    ASSERT_EQ(value, (pixel - static_cast<float>(c + 1)) * 0.5f + 0.5f) << from << " -> " << to << " value " << i;
  }
}

TEST(CropMirrorNormalize, AllLayouts) {
  for (const std::string from : {"HWC", "CHW", "DHWC", "CDHW", "FHWC", "FCHW", "CFHW", "FDHWC", "FCDHW", "CFDHW"}) {
    std::string to = from;
    std::sort(to.begin(), to.end());
    do {
      check_layouts(from, to, false);
      check_layouts(from, to, true);
    } while (std::next_permutation(to.begin(), to.end()));
  }
}

TEST(CropMirrorNormalize, WholeImageOfOneChannel) {
  std::vector<uint8_t> pixels(28 * 28);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i);
  OpTester op("crop_mirror_normalize", {{"std", 255.0}, {"output_layout", std::string("HWC")}});
  const std::vector<float> out = op.run({TestTensor::of({28, 28, 1}, pixels, "HWC")})[0].values<float>();
  for (size_t i = 0; i < pixels.size(); ++i) ASSERT_EQ(out[i], static_cast<float>(pixels[i]) * (1.0f / 255.0f));
}

TEST(CropMirrorNormalize, PadsOutsideWithFillValuesAsTheyAre) {
  const TestTensor in = TestTensor::of<uint8_t>({1, 2, 3}, {10, 20, 30, 40, 50, 60}, "HWC");
  OpTester op("crop_mirror_normalize", {{"crop", std::vector<double>{1, 4}},
                                        {"crop_pos_x", 0.0},
                                        {"mean", 10.0},
                                        {"mirror", 1},
                                        {"pad_output", true},
                                        {"out_of_bounds_policy", std::string("PAD")},
                                        {"fill_values", std::vector<double>{1, 2, 3}}});
  const TestTensor out = op.run({in})[0];
  EXPECT_EQ(out.shape, Shape({4, 1, 4}));
  EXPECT_THAT(out.values<float>(), ElementsAre(1, 1, 30, 0, 2, 2, 40, 10, 3, 3, 50, 20, 0, 0, 0, 0));
}

TEST(CropMirrorNormalize, TrimsToTheImage) {
  const TestTensor in = TestTensor::of<int16_t>({2, 2, 1}, {-1, 2, 300, 4}, "HWC");
  OpTester op("crop_mirror_normalize", {{"crop", std::vector<double>{5, 1}},
                                        {"out_of_bounds_policy", std::string("trim_to_shape")},
                                        {"crop_pos_x", 0.0},
                                        {"dtype", static_cast<int64_t>(DType::kUInt8)}});
  const TestTensor out = op.run({in})[0];
  EXPECT_EQ(out.shape, Shape({1, 2, 1}));
  EXPECT_THAT(out.values<uint8_t>(), ElementsAre(0, 255));
}

TEST(CropMirrorNormalize, ReadsPerSampleArguments) {
  const TestTensor in = TestTensor::of<float>({1, 3, 1}, {1, 2, 3}, "HWC");
  OpTester op("crop_mirror_normalize", {{"crop_h", 1}, {"crop_w", 2}}, {"mirror", "crop_pos_x", "mean"});
  const auto number = [](float x) { return TestTensor::of<float>({}, {x}); };
  const auto flag = [](int32_t x) { return TestTensor::of<int32_t>({}, {x}); };
  EXPECT_THAT(op.run({in}, {flag(0), number(0), number(1)})[0].values<float>(), ElementsAre(0, 1));
  EXPECT_THAT(op.run({in}, {flag(1), number(1), number(0)})[0].values<float>(), ElementsAre(3, 2));
}

TEST(CropMirrorNormalize, AcceptsEmptyImages) {
  OpTester op("crop_mirror_normalize");
  EXPECT_EQ(op.run({TestTensor::of<uint8_t>({0, 4, 3}, {}, "HWC")})[0].shape, Shape({3, 0, 4}));
}

TEST(CropMirrorNormalize, SaysWhatIsWrong) {
  const TestTensor in = image("HWC");
  const std::vector<double> two = {1, 2};
  struct {
    ArgMap args;
    std::string message;
  } cases[] = {
      {{{"crop", 3.0}}, "crop: expected 2 values"},
      {{{"crop_h", 3.0}}, "crop_h: expected together with crop_w"},
      {{{"crop", std::vector<double>{9, 2}}}, "reaches beyond the input"},
      {{{"crop", two}, {"crop_pos_x", 1.5}}, "crop_pos_x: expected a number from 0 to 1, got 1.5"},
      {{{"mean", two}}, "mean: expected 1 value or one for each of 3 channels, got 2"},
      {{{"std", two}}, "std: expected 1 value"},
      {{{"fill_values", two}}, "fill_values: expected 1 value"},
      {{{"output_layout", std::string("CHWX")}}, "output_layout: expected the letters of \"HWC\""},
      {{{"output_layout", std::string("CHH")}}, "output_layout: expected each letter"},
      {{{"dtype", static_cast<int64_t>(DType::kInt16)}}, "dtype: expected FLOAT"},
      {{{"rounding", std::string("up")}}, "rounding: expected"},
      {{{"out_of_bounds_policy", std::string("reflect")}}, "out_of_bounds_policy: expected"},
  };
  for (const auto& c : cases) {
    try {
      OpTester op("crop_mirror_normalize", c.args);
      op.run({in});
      ADD_FAILURE() << c.message;
    } catch (const Error& e) {
      EXPECT_THAT(e.message(), HasSubstr(c.message));
    }
  }
}

}  // namespace
}  // namespace headrace
