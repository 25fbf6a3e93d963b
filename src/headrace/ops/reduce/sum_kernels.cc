// Sums.
#include <type_traits>

#include "ops/reduce/accumulate_kernel.h"

namespace headrace {
namespace {

template <typename T> using SumType = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

// Signed integers are added as unsigned ones, so that overflow wraps.
struct Sum {
  static constexpr bool kUsesMean = false;
  template <typename T> static double add(double acc, T x, float) { return acc + static_cast<double>(x); }
  template <typename T> static uint64_t add(uint64_t acc, T x, float) { return acc + static_cast<uint64_t>(x); }
};

}  // namespace

AccumulateKernel sum_kernel(Reduction reduction, DType input) {
  AccumulateKernel kernel = nullptr;
  visit_dtype(input, ReducibleTypes(), "[reductions] input", [&]<typename T>() {
    kernel = reduction == Reduction::kSum ? rows_kernel<Sum, T, SumType<T>>() : rows_kernel<Sum, T, double>();
  });
  return kernel;
}

}  // namespace headrace
