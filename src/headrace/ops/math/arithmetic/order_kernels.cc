// Minimum, maximum, clamp. A NaN on the left gives the right operand; on the right it is the result.
#include "ops/math/arithmetic/kernels.h"

namespace headrace {
namespace {

template <typename T> TileKernel kernel_of(Function function) {
  switch (function) {
    case Function::kMin: return vector_kernel<T, T, T>([](T a, T b) { return a < b ? a : b; });
    case Function::kMax: return vector_kernel<T, T, T>([](T a, T b) { return a > b ? a : b; });
    case Function::kClamp:
      return vector_kernel<T, T, T, T>([](T a, T low, T high) {
        const T raised = a > low ? a : low;
        return raised < high ? raised : high;
      });
    default: return nullptr;
  }
}

}  // namespace

TileKernel order_kernel(Function function, DType type) {
  TileKernel kernel = nullptr;
  visit_dtype(type, NumericTypes(), "[arithmetic] operands", [&]<typename T>() { kernel = kernel_of<T>(function); });
  return kernel;
}

}  // namespace headrace
