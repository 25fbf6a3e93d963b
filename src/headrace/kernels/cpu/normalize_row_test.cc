// Every type pair, stride pattern and odd length against a scalar loop.
#include "kernels/cpu/normalize_row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/convert.h"
#include "hwy/targets.h"

namespace headrace {
namespace {

struct Case {
  int64_t in_pixel, in_channel, out_pixel, out_channel;  // -1 stands for the number of pixels
};

const float kMean[] = {10.5f, -20, 30, 7, 9};
const float kFactor[] = {0.3f, 1.7f, -2.5f, 1, 0.11f};

template <typename In, typename Out> void check_row(int64_t pixels, int64_t channels, const Case& c, bool mirror) {
  const auto stride = [&](int64_t s) { return s < 0 ? pixels : s == 0 ? channels : s; };
  const size_t size = static_cast<size_t>(pixels * channels * 2 + 8);
  std::vector<In> in(size);
  for (size_t i = 0; i < size; ++i) in[i] = convert<In>(static_cast<float>((i * 7919 + i * i) % 977) - 200.0f);
  std::vector<Out> out(size, convert<Out>(77.0f)), expected = out;
  NormalizeRow row{in.data(),
                   out.data(),
                   pixels,
                   channels,
                   stride(c.in_pixel),
                   stride(c.in_channel),
                   stride(c.out_pixel),
                   stride(c.out_channel),
                   kMean,
                   kFactor,
                   2.25f};
  if (mirror) {
    row.in = in.data() + (pixels - 1) * row.in_pixel;
    row.in_pixel = -row.in_pixel;
  }
  for (int64_t x = 0; x < pixels; ++x) {
    for (int64_t k = 0; k < channels; ++k) {
      const In value = static_cast<const In*>(row.in)[x * row.in_pixel + k * row.in_channel];
      const float result = (static_cast<float>(value) - kMean[k]) * kFactor[k] + 2.25f;
      expected[static_cast<size_t>(x * row.out_pixel + k * row.out_channel)] = convert<Out>(result);
    }
  }
  find_normalize_row(dtype_of<In>, dtype_of<Out>)(row);
  for (size_t i = 0; i < size; ++i) {
    ASSERT_EQ(static_cast<float>(out[i]), static_cast<float>(expected[i]))
        << "element " << i << " of " << pixels << " x " << channels << (mirror ? " mirrored" : "") << ", strides "
        << row.in_pixel << ' ' << row.in_channel << ' ' << row.out_pixel << ' ' << row.out_channel;
  }
}

template <typename In, typename Out> void check_type_pair() {
  const Case interleaved{0, 1, 0, 1}, split{0, 1, 1, -1}, planes{1, -1, 1, -1}, join{1, -1, 0, 1}, sparse{0, 1, 2, -1};
  for (const int64_t pixels : {1, 7, 16, 33, 48, 170, 171, 513, 600}) {
    for (const int64_t channels : {1, 2, 3, 5}) {
      for (const Case& c : {interleaved, split, planes, join}) {
        for (const bool mirror : {false, true}) check_row<In, Out>(pixels, channels, c, mirror);
      }
    }
    check_row<In, Out>(pixels, 1, sparse, false);
  }
}

template <typename In> void check_outputs() {
  check_type_pair<In, float>();
  check_type_pair<In, Float16>();
  check_type_pair<In, uint8_t>();
  check_type_pair<In, int8_t>();
}

TEST(NormalizeRow, EqualsTheScalarLoopOnEveryTarget) {
  for (int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
    hwy::SetSupportedTargetsForTest(targets & -targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    check_outputs<uint8_t>();
    check_outputs<uint16_t>();
    check_outputs<int16_t>();
    check_outputs<int32_t>();
    check_outputs<Float16>();
    check_outputs<float>();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(NormalizeRow, RoundsHalfAwayAndClamps) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> in = {0.5f,   1.5f, 2.5f, -0.5f, -2.5f, 0.49999997f,   127.5f,
                                 254.5f, 300,  -300, inf,   -inf,  std::nanf(""), 3e9f};
  const float zero = 0, one = 1;
  std::vector<int8_t> out(in.size());
  const int64_t n = static_cast<int64_t>(in.size());
  find_normalize_row(DType::kFloat32, DType::kInt8)({in.data(), out.data(), n, 1, 1, 1, 1, 1, &zero, &one, 0});
  EXPECT_EQ(out, (std::vector<int8_t>{1, 2, 3, -1, -3, 0, 127, 127, 127, -128, 127, -128, 0, 127}));
}

TEST(NormalizeRow, RefusesOtherTypes) {
  EXPECT_EQ(find_normalize_row(DType::kFloat64, DType::kFloat32), nullptr);
  EXPECT_EQ(find_normalize_row(DType::kUInt8, DType::kInt16), nullptr);
}

}  // namespace
}  // namespace headrace
