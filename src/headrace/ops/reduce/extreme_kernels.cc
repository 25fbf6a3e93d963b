// Smallest and largest values.
#include "ops/reduce/accumulate_kernel.h"

namespace headrace {
namespace {

struct Min {
  static constexpr bool kUsesMean = false;
  template <typename T> static T add(T acc, T x, float) { return x < acc ? x : acc; }
};

struct Max {
  static constexpr bool kUsesMean = false;
  template <typename T> static T add(T acc, T x, float) { return x > acc ? x : acc; }
};

}  // namespace

AccumulateKernel extreme_kernel(Reduction reduction, DType input) {
  AccumulateKernel kernel = nullptr;
  visit_dtype(input, ReducibleTypes(), "[reductions] input", [&]<typename T>() {
    kernel = reduction == Reduction::kMin ? rows_kernel<Min, T, T>() : rows_kernel<Max, T, T>();
  });
  return kernel;
}

}  // namespace headrace
