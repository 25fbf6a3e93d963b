// For tests of random operators: distances between draws and distributions.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace headrace {

// Kolmogorov-Smirnov distance to a continuous distribution function, times sqrt(n): above 2 once in 3000 for true
// draws.
template <typename T, typename Cdf> double ks_distance(std::vector<T> draws, Cdf cdf) {
  std::sort(draws.begin(), draws.end());
  double distance = 0;
  const double n = static_cast<double>(draws.size());
  for (size_t i = 0; i < draws.size(); ++i) {
    const double f = cdf(static_cast<double>(draws[i]));
    const double below = static_cast<double>(i) / n;
    distance = std::max({distance, std::abs(f - below), std::abs(f - below - 1 / n)});
  }
  return distance * std::sqrt(n);
}

// Chi-square of counts against expected counts, in standard deviations above its mean.
inline double chi_square_excess(const std::vector<double>& counts, const std::vector<double>& expected) {
  double sum = 0;
  int used = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (expected[i] == 0) {
      if (counts[i] != 0) return 1e9;  // what cannot be happened
      continue;
    }
    sum += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
    ++used;
  }
  return (sum - (used - 1)) / std::sqrt(2.0 * std::max(used - 1, 1));
}

inline double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

}  // namespace headrace
