// Resampling: SIMD against a scalar loop of the same sums, over types, channels and odd sizes; tables against formulas.
#include "kernels/cpu/resample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/convert.h"
#include "hwy/targets.h"
#include "kernels/cpu/resample_rows.h"

namespace headrace {
namespace {

using testing::ElementsAre;

constexpr ResampleFilter kFilters[] = {ResampleFilter::kLinear, ResampleFilter::kCubic, ResampleFilter::kLanczos3,
                                       ResampleFilter::kGaussian, ResampleFilter::kNearest};

ResampleAxis scaled(int64_t in, int64_t out, ResampleFilter filter, bool mirror = false, double shift = 0) {
  ResampleAxis axis{in, out, shift, static_cast<double>(in) / static_cast<double>(out), filter, true};
  if (mirror) axis = {in, out, shift + static_cast<double>(in), -axis.step, filter, true};
  return axis;
}

double curve(ResampleFilter filter, double u) {
  u = std::abs(u);
  const auto sinc = [](double x) { return x == 0 ? 1 : std::sin(M_PI * x) / (M_PI * x); };
  switch (filter) {
    case ResampleFilter::kCubic:
      return u < 1 ? 1.5 * u * u * u - 2.5 * u * u + 1 : u < 2 ? -0.5 * u * u * u + 2.5 * u * u - 4 * u + 2 : 0;
    case ResampleFilter::kLanczos3: return u < 3 ? sinc(u) * sinc(u / 3) : 0;
    case ResampleFilter::kGaussian: return u < 1 - 1e-9 ? std::exp(-4 * u * u) : 0;
    default: return u < 1 ? 1 - u : 0;
  }
}

// The weight of every input element, by the definition.
std::vector<double> weights_of(const ResampleAxis& axis, int64_t i) {
  std::vector<double> weights(static_cast<size_t>(axis.in));
  const double stretch = axis.antialias ? std::max(1.0, std::abs(axis.step)) : 1;
  const double centre = axis.origin + (static_cast<double>(i) + 0.5) * axis.step - 0.5;
  const auto at = [&](int64_t k) -> double& {
    return weights[static_cast<size_t>(std::clamp<int64_t>(k, 0, axis.in - 1))];
  };
  double sum = 0;
  for (auto k = static_cast<int64_t>(centre - 3 * stretch) - 2; k < centre + 3 * stretch + 2; ++k) {
    const double w = curve(axis.filter, (static_cast<double>(k) - centre) / stretch);
    at(k) += w;
    sum += w;
  }
  for (double& w : weights) w /= sum;
  return weights;
}

TEST(ResampleTable, HasTheWeightsOfTheDefinition) {
  const auto pool = make_ref<HostPool>();
  for (const ResampleFilter filter : kFilters) {
    if (filter == ResampleFilter::kNearest) continue;
    for (const auto& [in, out] : {std::pair{1, 1}, {1, 7}, {7, 1}, {5, 5}, {13, 9}, {9, 13}, {100, 7}, {2, 3}}) {
      for (const double shift : {0.0, 0.3, -2.7, 50.0}) {
        for (const bool mirror : {false, true}) {
          Arena arena(pool);
          const ResampleAxis axis = scaled(in, out, filter, mirror, shift);
          const ResampleTable table = make_resample_table(axis, arena);
          ASSERT_EQ(table.out, out);
          for (int64_t i = 0; i < out; ++i) {
            std::vector<double> wanted = weights_of(axis, i);
            ASSERT_GE(table.first[i], table.begin);
            ASSERT_LE(table.first[i] + table.taps, table.end);
            ASSERT_LE(table.end, in);
            const int64_t moved = i > 0 ? table.first[i] - table.first[i - 1] : 0;
            ASSERT_GE(mirror ? -moved : moved, 0);
            for (int64_t k = 0; k < table.taps; ++k) {
              wanted[static_cast<size_t>(table.first[i] + k)] -= static_cast<double>(table.weights[i * table.taps + k]);
            }
            for (const double rest : wanted) ASSERT_NEAR(rest, 0, 1e-3) << in << " -> " << out << " at " << i;
          }
        }
      }
    }
  }
}

TEST(ResampleTable, LeavesAnAxisAloneAtScaleOne) {
  Arena arena(make_ref<HostPool>());
  for (const ResampleFilter filter : kFilters) {
    ResampleAxis axis = scaled(5, 4, filter);
    axis.origin = 1;
    axis.step = 1;
    const ResampleTable table = make_resample_table(axis, arena);
    for (int64_t i = 0; i < 4; ++i) {
      for (int64_t k = 0; k < table.taps; ++k) {
        ASSERT_EQ(table.weights[i * table.taps + k], table.first[i] + k == i + 1 ? 1 : 0);
      }
    }
  }
}

TEST(ResampleTable, NearestElement) {
  const ResampleAxis axis = scaled(7, 3, ResampleFilter::kNearest);
  EXPECT_EQ(nearest_element(axis, 0), 1);
  EXPECT_EQ(nearest_element(axis, 1), 3);
  EXPECT_EQ(nearest_element(axis, 2), 5);
  ResampleAxis outside = axis;
  outside.origin = -100;
  EXPECT_EQ(nearest_element(outside, 0), 0);
  outside.origin = 1e12;
  EXPECT_EQ(nearest_element(outside, 0), 6);
}

// Resamples rows x columns x channels one axis after the other, tap by tap, in the order that `vertical_first` says.
std::vector<float> resample_scalar(const std::vector<float>& in, const ResampleTable& v, const ResampleTable& h,
                                   int64_t channels, bool vertical_first) {
  const auto along = [](const std::vector<float>& from, int64_t outer, const ResampleTable& t, int64_t inner) {
    std::vector<float> to(static_cast<size_t>(outer * t.out * inner));
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < t.out; ++i) {
        for (int64_t j = 0; j < inner; ++j) {
          float sum = 0;
          for (int64_t k = 0; k < t.taps; ++k) {
            const float product =
                t.weights[i * t.taps + k] * from[static_cast<size_t>((o * t.in + t.first[i] + k) * inner + j)];
            sum = k == 0 ? product : sum + product;
          }
          to[static_cast<size_t>((o * t.out + i) * inner + j)] = sum;
        }
      }
    }
    return to;
  };
  if (vertical_first) return along(along(in, 1, v, h.in * channels), v.out, h, channels);
  return along(along(in, v.in, h, channels), 1, v, h.out * channels);
}

template <typename In, typename Out>
void check_image(int64_t rows, int64_t columns, int64_t channels, ResampleAxis v, ResampleAxis h) {
  Arena arena(make_ref<HostPool>());
  std::vector<In> in(static_cast<size_t>(rows * columns * channels));
  for (size_t i = 0; i < in.size(); ++i) in[i] = convert<In>(static_cast<float>((i * 7919 + i * i) % 977) / 3 - 20);
  std::vector<float> floats(in.begin(), in.end());
  std::vector<Out> out(static_cast<size_t>(v.out * h.out * channels + 64), Out(99));
  const Sample source{in.data(), nullptr, dtype_of<In>, {}, {rows, columns, channels}, {}};
  const Sample target{out.data(), nullptr, dtype_of<Out>, {}, {v.out, h.out, channels}, {}};
  resample(source, std::vector<ResampleAxis>{v, h, {channels, channels}}, target, arena);

  const ResampleTable vt = make_resample_table(v, arena), ht = make_resample_table(h, arena);
  const std::vector<float> a = resample_scalar(floats, vt, ht, channels, true);
  const std::vector<float> b = resample_scalar(floats, vt, ht, channels, false);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(out[i] == convert<Out>(a[i]) || out[i] == convert<Out>(b[i]))
        << "element " << i << ": " << +out[i] << ", expected " << a[i] << " or " << b[i] << "; " << rows << 'x'
        << columns << 'x' << channels << " -> " << v.out << 'x' << h.out << ", filter " << static_cast<int>(v.filter);
  }
  for (size_t i = a.size(); i < out.size(); ++i) ASSERT_EQ(out[i], Out(99)) << "beyond the end";
}

template <typename In, typename Out> void check_sizes() {
  const std::pair<int64_t, int64_t> inputs[] = {{1, 1}, {1, 9}, {5, 1}, {7, 33}, {40, 21}};
  const std::pair<int64_t, int64_t> outputs[] = {{1, 1}, {3, 17}, {13, 5}, {7, 33}, {50, 66}, {7, 12}, {9, 33}};
  int n = 0;
  for (const auto& [rows, columns] : inputs) {
    for (const auto& [height, width] : outputs) {
      for (const int64_t channels : {1, 2, 3, 4, 5, 19}) {
        const ResampleFilter filter = kFilters[n++ % 5];
        check_image<In, Out>(rows, columns, channels, scaled(rows, height, filter, n % 3 == 0),
                             scaled(columns, width, filter, n % 4 == 0, n % 7 == 0 ? -2.3 : 0));
      }
    }
  }
}

TEST(Resample, EqualsTheScalarLoopOnEveryTarget) {
  for (int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
    hwy::SetSupportedTargetsForTest(targets & -targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    check_sizes<uint8_t, uint8_t>();
    check_sizes<uint8_t, float>();
    check_sizes<uint16_t, uint16_t>();
    check_sizes<uint16_t, float>();
    check_sizes<int16_t, int16_t>();
    check_sizes<int16_t, float>();
    check_sizes<float, float>();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(Resample, MixesNearestAndOthers) {
  check_image<uint8_t, uint8_t>(9, 20, 3, scaled(9, 4, ResampleFilter::kNearest),
                                scaled(20, 31, ResampleFilter::kCubic));
}

// Ramps along each of four axes stay ramps: the sum of the coordinates, where no border is near.
TEST(Resample, HandlesAnyAxes) {
  const Shape from{6, 5, 8, 4};
  for (int mask = 1; mask < 16; ++mask) {
    for (const double factor : {0.5, 2.0}) {
      Arena arena(make_ref<HostPool>());
      std::vector<float> in, out;
      for (int64_t i = 0; i < from.volume(); ++i) {
        in.push_back(static_cast<float>(i / 160 + 10 * (i / 32 % 5) + 100 * (i / 4 % 8) + 1000 * (i % 4)));
      }
      Shape to = from;
      std::vector<ResampleAxis> axes;
      for (int a = 0; a < 4; ++a) {
        if (mask >> a & 1) to[a] = static_cast<int64_t>(static_cast<double>(from[a]) * factor);
        axes.push_back(mask >> a & 1 ? ResampleAxis{from[a], to[a], 0, 1 / factor, ResampleFilter::kLinear, false}
                                     : ResampleAxis{from[a], from[a]});
      }
      out.resize(static_cast<size_t>(to.volume()));
      resample({in.data(), nullptr, DType::kFloat32, {}, from, {}}, axes,
               {out.data(), nullptr, DType::kFloat32, {}, to, {}}, arena);
      for (int64_t i = 0; i < to.volume(); ++i) {
        double wanted = 0;
        int64_t rest = i;
        const double units[] = {1, 10, 100, 1000};
        for (int a = 3; a >= 0; --a) {
          const double at = static_cast<double>(rest % to[a]);
          const double place = mask >> a & 1 ? (at + 0.5) / factor - 0.5 : at;
          wanted += units[a] * std::clamp(place, 0.0, static_cast<double>(from[a] - 1));
          rest /= to[a];
        }
        ASSERT_NEAR(out[static_cast<size_t>(i)], wanted, 1e-3) << "axes " << mask << ", factor " << factor;
      }
    }
  }
}

TEST(Resample, RoundsTiesAwayFromZeroInEveryColumn) {
  Arena arena(make_ref<HostPool>());
  std::vector<int16_t> in(2 * 41), out(41);
  for (size_t i = 0; i < 41; ++i) {
    in[i] = static_cast<int16_t>(i) - 20;
    in[41 + i] = static_cast<int16_t>(in[i] + (in[i] < 0 ? -1 : 1));
  }
  const std::vector<ResampleAxis> axes = {scaled(2, 1, ResampleFilter::kLinear), {41, 41}};
  resample({in.data(), nullptr, DType::kInt16, {}, {2, 41}, {}}, axes,
           {out.data(), nullptr, DType::kInt16, {}, {1, 41}, {}}, arena);
  for (size_t i = 0; i < 41; ++i) EXPECT_EQ(out[i], in[41 + i]);
}

TEST(Resample, CopiesNearestAndConverts) {
  Arena arena(make_ref<HostPool>());
  const std::vector<uint8_t> in = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::vector<float> out(8);
  const std::vector<ResampleAxis> axes = {
      scaled(2, 2, ResampleFilter::kNearest, true), scaled(3, 2, ResampleFilter::kNearest), {2, 2}};
  Sample source{const_cast<uint8_t*>(in.data()), nullptr, DType::kUInt8, {}, {2, 3, 2}, {}};
  resample(source, axes, {out.data(), nullptr, DType::kFloat32, {}, {2, 2, 2}, {}}, arena);
  EXPECT_THAT(out, ElementsAre(7, 8, 11, 12, 1, 2, 5, 6));
}

}  // namespace
}  // namespace headrace
