// Comparisons. Integers of different signedness compare by their mathematical values.
#include <utility>

#include "ops/math/arithmetic/kernels.h"

namespace headrace {
namespace {

template <typename A, typename B> TileKernel mixed_kernel(Function function) {
  switch (function) {
    case Function::kEqual: return vector_kernel<uint8_t, A, B>([](A a, B b) { return std::cmp_equal(a, b); });
    case Function::kNotEqual: return vector_kernel<uint8_t, A, B>([](A a, B b) { return std::cmp_not_equal(a, b); });
    case Function::kLess: return vector_kernel<uint8_t, A, B>([](A a, B b) { return std::cmp_less(a, b); });
    case Function::kLessEqual: return vector_kernel<uint8_t, A, B>([](A a, B b) { return std::cmp_less_equal(a, b); });
    case Function::kGreater: return vector_kernel<uint8_t, A, B>([](A a, B b) { return std::cmp_greater(a, b); });
    case Function::kGreaterEqual:
      return vector_kernel<uint8_t, A, B>([](A a, B b) { return std::cmp_greater_equal(a, b); });
    default: return nullptr;
  }
}

template <typename T> TileKernel kernel_of(Function function) {
  switch (function) {
    case Function::kEqual: return vector_kernel<uint8_t, T, T>([](T a, T b) { return a == b; });
    case Function::kNotEqual: return vector_kernel<uint8_t, T, T>([](T a, T b) { return a != b; });
    case Function::kLess: return vector_kernel<uint8_t, T, T>([](T a, T b) { return a < b; });
    case Function::kLessEqual: return vector_kernel<uint8_t, T, T>([](T a, T b) { return a <= b; });
    case Function::kGreater: return vector_kernel<uint8_t, T, T>([](T a, T b) { return a > b; });
    case Function::kGreaterEqual: return vector_kernel<uint8_t, T, T>([](T a, T b) { return a >= b; });
    default: return nullptr;
  }
}

}  // namespace

TileKernel comparison_kernel(Function function, DType left, DType right) {
  if (left == DType::kUInt64 && right == DType::kInt64) return mixed_kernel<uint64_t, int64_t>(function);
  if (left == DType::kInt64 && right == DType::kUInt64) return mixed_kernel<int64_t, uint64_t>(function);
  TileKernel kernel = nullptr;
  visit_dtype(left, NumericTypes(), "[arithmetic] operands", [&]<typename T>() { kernel = kernel_of<T>(function); });
  return kernel;
}

}  // namespace headrace
