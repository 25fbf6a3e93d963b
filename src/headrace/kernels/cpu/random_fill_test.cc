// Random arrays: equal to the scalar formulas for every SIMD target, length and part; distributions.
#include "kernels/cpu/random_fill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "hwy/highway.h"

namespace headrace {
namespace {

const RandomStream kStream(0x123456789abcdefu, 5, 1234567890123);

std::vector<uint32_t> scalar_words(int64_t count) {
  RandomStream stream = kStream;
  std::vector<uint32_t> words(count);
  for (uint32_t& word : words) word = stream.next_u32();
  return words;
}

uint64_t join(const std::vector<uint32_t>& words, int64_t i) {
  return words[2 * i] | (uint64_t{words[2 * i + 1]} << 32);
}

// All five kinds by the scalar formulas.
struct Expected {
  std::vector<uint32_t> words;
  std::vector<float> uniform, normal;
  std::vector<double> uniform_double, normal_double;
};

Expected expected_numbers(int64_t count) {
  const std::vector<uint32_t> words = scalar_words(2 * count + 4);
  Expected e = {{words.begin(), words.begin() + count}, {}, {}, {}, {}};
  for (int64_t i = 0; i < count; ++i) {
    e.uniform.push_back(uniform_of(words[i]));
    e.uniform_double.push_back(uniform_of(join(words, i)));
    const int64_t pair = i & ~int64_t{1};
    const NormalPair<float> f = normal_pair_of(words[pair], words[pair + 1]);
    e.normal.push_back(i == pair ? f.first : f.second);
    const NormalPair<double> d = normal_pair_of(join(words, pair), join(words, pair + 1));
    e.normal_double.push_back(i == pair ? d.first : d.second);
  }
  return e;
}

template <typename T, typename Fill> std::vector<T> by_parts(int64_t count, int64_t part, Fill fill) {
  std::vector<T> out(count);
  for (int64_t first = 0; first < count; first += part) {
    fill(kStream, first, out.data() + first, std::min(part, count - first));
  }
  return out;
}

void check_all(int64_t count, int64_t part) {
  const Expected e = expected_numbers(count);
  EXPECT_EQ(by_parts<uint32_t>(count, part, fill_words), e.words);
  const auto uniform = [](auto... args) { fill_uniform(args...); };
  const auto normal = [](auto... args) { fill_normal(args...); };
  EXPECT_EQ(by_parts<float>(count, part, uniform), e.uniform);
  EXPECT_EQ(by_parts<double>(count, part, uniform), e.uniform_double);
  EXPECT_EQ(by_parts<float>(count, part, normal), e.normal);
  EXPECT_EQ(by_parts<double>(count, part, normal), e.normal_double);
}

TEST(RandomFill, EqualsTheScalarFormulasForEveryTarget) {
  for (int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
    const int64_t target = targets & -targets;
    hwy::SetSupportedTargetsForTest(static_cast<uint32_t>(target));
    SCOPED_TRACE(hwy::TargetName(target));
    for (const int64_t count : {0, 1, 2, 3, 5, 31, 63, 64, 65, 127, 128, 129, 1000}) {
      SCOPED_TRACE(count);
      check_all(count, 1 << 20);
      check_all(count, kRandomChunk);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

// Kolmogorov-Smirnov distance to a distribution function, times sqrt(n): above 2 once in 3000 for true draws.
template <typename T, typename Cdf> double ks_distance(std::vector<T> draws, Cdf cdf) {
  std::sort(draws.begin(), draws.end());
  double distance = 0;
  const double n = static_cast<double>(draws.size());
  for (size_t i = 0; i < draws.size(); ++i) {
    const double f = cdf(static_cast<double>(draws[i]));
    distance = std::max({distance, std::abs(f - static_cast<double>(i) / n), std::abs(f - (i + 1.0) / n)});
  }
  return distance * std::sqrt(n);
}

TEST(RandomFill, HasTheDistributionsThatItNames) {
  const Expected e = expected_numbers(200000);
  const auto uniform = [](double x) { return x; };
  const auto normal = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  EXPECT_LT(ks_distance(e.uniform, uniform), 2);
  EXPECT_LT(ks_distance(e.uniform_double, uniform), 2);
  EXPECT_LT(ks_distance(e.normal, normal), 2);
  EXPECT_LT(ks_distance(e.normal_double, normal), 2);
}

}  // namespace
}  // namespace headrace
