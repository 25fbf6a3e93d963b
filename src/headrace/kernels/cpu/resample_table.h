// Where the values of a resampled axis come from: filters, and tables of weights.
#pragma once

#include <cstdint>

#include "core/arena.h"

namespace headrace {

enum class ResampleFilter : uint8_t {
  kNearest,
  kLinear,    // triangle of radius 1
  kCubic,     // Keys, a = -0.5, radius 2
  kLanczos3,  // sinc(u) sinc(u / 3), radius 3
  kGaussian,  // exp(-4 u^2), radius 1
};

// One axis: output i is centred at origin + (i + 0.5) * step, in units of input elements, where element k spans
// [k, k + 1). A negative step mirrors. The region may lie outside the input, whose border elements repeat.
struct ResampleAxis {
  int64_t in = 1;
  int64_t out = 1;
  double origin = 0;
  double step = 1;
  ResampleFilter filter = ResampleFilter::kLinear;
  bool antialias = true;  // where the axis shrinks, the filter is stretched by |step|

  // Copies the axis as it is, with any filter.
  bool is_identity() const { return in == out && origin == 0 && step == 1; }
};

// The weighted sums of one axis: output i is the sum over k < taps of weights[i * taps + k] * input[first[i] + k].
// Weights beyond the borders are folded onto the border elements, so that all inputs exist. The weights of an output
// add up to 1. `first` never decreases along the axis, or never increases if the axis is mirrored.
struct ResampleTable {
  int64_t in = 0;
  int64_t out = 0;
  int64_t taps = 0;
  int64_t begin = 0;  // all inputs that take part lie in [begin, end)
  int64_t end = 0;
  bool mirrored = false;
  const int32_t* first = nullptr;
  const float* weights = nullptr;
};

// Computes the table in memory of `arena`. Both extents are positive. Weights are K((k - c) / f) / sum for all k with
// |k - c| < R f, where c is the centre less a half, f the stretching, R the filter's radius. The curves other than the
// triangle are interpolated between 32 points per unit, as DALI's are.
ResampleTable make_resample_table(const ResampleAxis& axis, Arena& arena);

// The input element that output i of a kNearest axis copies.
int64_t nearest_element(const ResampleAxis& axis, int64_t i);

}  // namespace headrace
