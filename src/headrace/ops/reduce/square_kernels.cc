// Sums of squares.
#include "ops/reduce/accumulate_kernel.h"

namespace headrace {
namespace {

struct Squares {
  static constexpr bool kUsesMean = false;
  template <typename T> static double add(double acc, T x, float) {
    return acc + static_cast<double>(x) * static_cast<double>(x);
  }
};

struct SquaredDeviations {
  static constexpr bool kUsesMean = true;
  template <typename T> static double add(double acc, T x, float mean) {
    const double deviation = static_cast<double>(x) - static_cast<double>(mean);
    return acc + deviation * deviation;
  }
};

}  // namespace

AccumulateKernel square_kernel(Reduction reduction, DType input) {
  AccumulateKernel kernel = nullptr;
  visit_dtype(input, ReducibleTypes(), "[reductions] input", [&]<typename T>() {
    kernel = reduction == Reduction::kSquares ? rows_kernel<Squares, T, double>()
                                              : rows_kernel<SquaredDeviations, T, double>();
  });
  return kernel;
}

}  // namespace headrace
