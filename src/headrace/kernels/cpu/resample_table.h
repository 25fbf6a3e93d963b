// Where the values of a resampled axis come from: filters, and tables of weights.
#pragma once

#include <cstdint>
#include <utility>

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

// What of an axis is in memory: elements [in_begin, in_begin + in) of the input, and [out_begin, out_begin + out) of
// the output. The axis itself stays whole: its borders, its filters and the order of passes don't hang on the window.
struct AxisWindow {
  ResampleAxis axis;
  int64_t in_begin = 0;
  int64_t in = 1;
  int64_t out_begin = 0;
  int64_t out = 1;

  AxisWindow() = default;
  // All of it.
  AxisWindow(const ResampleAxis& whole) : axis(whole), in(whole.in), out(whole.out) {}  // NOLINT: what an axis is
};

// The weighted sums of one axis: output i is the sum over k < taps of weights[i * taps + k] * input[first[i] + k].
// Weights beyond the borders are folded onto the border elements, so that all inputs exist. The weights of an output
// add up to 1. `first` never decreases along the axis, or never increases if the axis is mirrored.
struct ResampleTable {
  int64_t in = 0;  // elements in memory
  int64_t out = 0;
  int64_t taps = 0;
  int64_t begin = 0;  // all inputs that take part lie in [begin, end)
  int64_t end = 0;
  int64_t whole_out = 0;   // outputs of the axis, in memory or not
  int64_t whole_span = 0;  // inputs that take part in any of them
  bool mirrored = false;
  const int32_t* first = nullptr;
  const float* weights = nullptr;
};

// Computes the table in memory of `arena`. Both extents are positive. Weights are K((k - c) / f) / sum for all k with
// |k - c| < R f, where c is the centre less a half, f the stretching, R the filter's radius. The curves other than the
// triangle are interpolated between 32 points per unit, as DALI's are. Rows of a window are rows of the whole axis,
// with indices into what is in memory, which has to hold all of them (see resample_inputs).
ResampleTable make_resample_table(const AxisWindow& window, Arena& arena);

// Inputs [first, second) that hold whatever outputs [begin, end) of the axis are made from, and their table's rows; a
// few more than that. Not empty. No extent is 0.
std::pair<int64_t, int64_t> resample_inputs(const ResampleAxis& axis, int64_t begin, int64_t end);

// The input element that output i of a kNearest axis copies.
int64_t nearest_element(const ResampleAxis& axis, int64_t i);

}  // namespace headrace
