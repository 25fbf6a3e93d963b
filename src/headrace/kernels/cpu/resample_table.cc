// Filters and weight tables.
#include "kernels/cpu/resample_table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"

namespace headrace {
namespace {

constexpr int kPointsPerUnit = 32;

// Weights of one output that are computed one by one. A region may lie far beyond the input, where all elements are the
// same one: so many samples of the filter's curve do.
constexpr int64_t kMostWeights = 1 << 20;

// Places closer than this are one place: what exact arithmetic would say must not hang on rounding.
constexpr double kEdge = 1e-9;

// Points 0 .. radius * 32 of an even function, and one more 0 to interpolate with.
template <int kRadius> using Curve = std::array<float, kRadius * kPointsPerUnit + 2>;

constexpr Curve<2> make_cubic() {
  Curve<2> curve{};
  for (int i = 0; i <= 2 * kPointsPerUnit; ++i) {
    const double u = static_cast<double>(i) / kPointsPerUnit;
    const double inner = (1.5 * u - 2.5) * u * u + 1;
    const double outer = ((-0.5 * u + 2.5) * u - 4) * u + 2;
    curve[static_cast<size_t>(i)] = static_cast<float>(u < 1 ? inner : outer);
  }
  return curve;
}

// Built from constants by multiplication and addition alone: the compiler's and the machine's libm don't matter.
constexpr Curve<3> make_lanczos3() {
  // Sine and cosine of pi / 96, the angle of u / 3 from point to point.
  constexpr double kSine = 0.03271908282177614, kCosine = 0.99946458747636568;
  constexpr double kAngle = 0.032724923474893680;
  Curve<3> curve{1.0f};
  double sine = 0, cosine = 1;
  for (int i = 1; i < 3 * kPointsPerUnit; ++i) {
    const double next = sine * kCosine + cosine * kSine;
    cosine = cosine * kCosine - sine * kSine;
    sine = next;
    const double triple = sine * (3 - 4 * sine * sine);
    const double angle = kAngle * i;
    const bool zero = i % kPointsPerUnit == 0;
    curve[static_cast<size_t>(i)] = zero ? 0.0f : static_cast<float>(triple * sine / (3 * angle * angle));
  }
  return curve;
}

constexpr Curve<1> make_gaussian() {
  constexpr double kStep = 0.99610136947011749;  // exp(-1 / 256): point i is kStep^(i^2)
  Curve<1> curve{};
  double value = 1, ratio = kStep;
  for (int i = 0; i <= kPointsPerUnit; ++i) {
    curve[static_cast<size_t>(i)] = static_cast<float>(value);
    value *= ratio;
    ratio *= kStep * kStep;
  }
  return curve;
}

constexpr Curve<2> kCubicCurve = make_cubic();
constexpr Curve<3> kLanczos3Curve = make_lanczos3();
constexpr Curve<1> kGaussianCurve = make_gaussian();

struct Kernel {
  int radius;
  const float* points;  // null: the triangle

  float operator()(double distance) const {
    const double u = std::abs(distance);
    if (u >= radius) return 0;
    if (!points) return static_cast<float>(1 - u);
    const double x = u * kPointsPerUnit;
    const int i = static_cast<int>(x);
    const float fraction = static_cast<float>(x - i);
    return points[i] + (points[i + 1] - points[i]) * fraction;
  }
};

Kernel kernel_of(ResampleFilter filter) {
  switch (filter) {
    case ResampleFilter::kCubic: return {2, kCubicCurve.data()};
    case ResampleFilter::kLanczos3: return {3, kLanczos3Curve.data()};
    case ResampleFilter::kGaussian: return {1, kGaussianCurve.data()};
    default: return {1, nullptr};
  }
}

// Input elements in a unit of the filter's curve.
double stretch_of(const ResampleAxis& axis) { return axis.antialias ? std::max(1.0, std::abs(axis.step)) : 1.0; }

// How far the filter reaches from an output's centre, in input elements.
double reach_of(const ResampleAxis& axis) { return kernel_of(axis.filter).radius * stretch_of(axis); }

// The most elements that one output is made from.
int64_t widest_row(const ResampleAxis& axis) {
  if (axis.filter == ResampleFilter::kNearest) return 1;
  return static_cast<int64_t>(std::min(static_cast<double>(axis.in), std::ceil(2 * reach_of(axis)) + 1));
}

// The table under construction: rows of `width` weights, of which the longest decides how many are kept.
struct Rows {
  int64_t width;
  int32_t* first;
  float* weights;
  int64_t longest = 1;
};

// One output: weights of the elements around `centre`, folded onto [0, in), normalised.
void fill_row(const ResampleAxis& axis, const Kernel& kernel, double reach, double inverse_stretch, int64_t i,
              Rows& rows) {
  // An element on the very edge of the filter doesn't take part, on either side.
  const double centre = axis.origin + (static_cast<double>(i) + 0.5) * axis.step - 0.5;
  const int64_t start = static_cast<int64_t>(std::floor(centre - reach + kEdge)) + 1;
  const int64_t stop = static_cast<int64_t>(std::ceil(centre + reach - kEdge));  // behind the last
  const int64_t low = std::clamp<int64_t>(start, 0, axis.in - 1);
  const int64_t high = std::clamp<int64_t>(stop - 1, low, axis.in - 1);
  float* row = rows.weights + i * rows.width;
  double below = 0, above = 0, sum = 0;  // what folds onto the first and the last element; all
  std::fill_n(row, rows.width, 0.0f);
  const int64_t stride = 1 + (stop - start) / kMostWeights;
  for (int64_t k = start; k < stop; k += stride) {
    const float weight = kernel((static_cast<double>(k) - centre) * inverse_stretch);
    if (k <= low) {
      below += static_cast<double>(weight);
    } else if (k >= high) {
      above += static_cast<double>(weight);
    } else {
      row[k - low] = weight;
    }
    sum += static_cast<double>(weight);
  }
  row[0] += static_cast<float>(below);
  row[high - low] += static_cast<float>(above);
  if (sum == 0) {  // nothing in reach, which only rounding can bring about: the nearest element
    row[0] = 1;
    sum = 1;
  }
  const float scale = static_cast<float>(1 / sum);
  for (int64_t k = 0; k <= high - low; ++k) row[k] *= scale;
  rows.first[i] = static_cast<int32_t>(low);
  rows.longest = std::max(rows.longest, high - low + 1);
}

// Gives every row `taps` weights, moving rows that would reach beyond the input.
void pack_rows(const Rows& rows, int64_t in, int64_t out, int64_t taps) {
  for (int64_t i = 0; i < out; ++i) {
    const float* from = rows.weights + i * rows.width;
    float* to = rows.weights + i * taps;
    const int64_t shift = std::max<int64_t>(0, rows.first[i] + taps - in);
    std::copy(from, from + taps - shift, to);  // to is never behind from
    if (shift == 0) continue;
    std::copy_backward(to, to + taps - shift, to + taps);
    std::fill_n(to, shift, 0.0f);
    rows.first[i] -= static_cast<int32_t>(shift);
  }
}

}  // namespace

int64_t nearest_element(const ResampleAxis& axis, int64_t i) {
  // A centre between two elements belongs to the second, however its place was rounded.
  const double place = std::floor(axis.origin + (static_cast<double>(i) + 0.5) * axis.step + kEdge);
  return static_cast<int64_t>(std::clamp(place, 0.0, static_cast<double>(axis.in - 1)));
}

ResampleTable make_resample_table(const AxisWindow& window, Arena& arena) {
  const ResampleAxis& axis = window.axis;
  const Kernel kernel = kernel_of(axis.filter);
  const bool nearest = axis.filter == ResampleFilter::kNearest;
  const double reach = reach_of(axis), inverse_stretch = 1 / stretch_of(axis);
  const int64_t width = widest_row(axis);
  Rows rows{width, arena.allocate_array<int32_t>(static_cast<size_t>(axis.out)).data(),
            arena.allocate_array<float>(static_cast<size_t>(axis.out * width)).data()};
  for (int64_t i = 0; i < axis.out; ++i) {
    if (nearest) {
      rows.first[i] = static_cast<int32_t>(nearest_element(axis, i));
      rows.weights[i] = 1;
    } else {
      fill_row(axis, kernel, reach, inverse_stretch, i, rows);
    }
  }
  const int64_t taps = rows.longest;
  pack_rows(rows, axis.in, axis.out, taps);
  const int64_t whole_span = std::abs(rows.first[axis.out - 1] - rows.first[0]) + taps;
  int32_t* first = rows.first + window.out_begin;
  for (int64_t i = 0; i < window.out; ++i) first[i] -= static_cast<int32_t>(window.in_begin);
  const auto [least, most] = std::minmax(first[0], first[window.out - 1]);
  check_internal(least >= 0 && most + taps <= window.in, "resampling reads inputs {} to {} of {}", least, most + taps,
                 window.in);
  return {window.in, window.out, taps,          least, most + taps,
          axis.out,  whole_span, axis.step < 0, first, rows.weights + window.out_begin * taps};
}

std::pair<int64_t, int64_t> resample_inputs(const ResampleAxis& axis, int64_t begin, int64_t end) {
  if (axis.filter == ResampleFilter::kNearest) {
    const int64_t front = nearest_element(axis, begin), back = nearest_element(axis, end - 1);
    return {std::min(front, back), std::max(front, back) + 1};
  }
  const double left = axis.origin - 0.5 - reach_of(axis);  // where an output's filter begins, less its index times step
  const double front = left + (static_cast<double>(begin) + 0.5) * axis.step;
  const double back = left + (static_cast<double>(end) - 0.5) * axis.step;
  const auto [low, high] = std::minmax(front, back);
  const int64_t width = widest_row(axis);
  const double last = static_cast<double>(axis.in - 1);
  // One more on either side, for places that rounding moves over an edge.
  const int64_t first = static_cast<int64_t>(std::clamp(std::floor(low), 0.0, last));
  const int64_t final_row = static_cast<int64_t>(std::clamp(std::floor(high) + 2, 0.0, last));
  return {std::max<int64_t>(0, std::min(first, axis.in - width)), std::min(axis.in, final_row + width)};
}

}  // namespace headrace
