// Functions of one real number.
#include <cmath>

#include "ops/math/arithmetic/kernels.h"

namespace headrace {
namespace {

template <typename T> TileKernel kernel_of(Function function) {
  switch (function) {
    case Function::kFabs: return vector_kernel<T, T>([](T x) { return std::abs(x); });
    case Function::kFloor: return vector_kernel<T, T>([](T x) { return std::floor(x); });
    case Function::kCeil: return vector_kernel<T, T>([](T x) { return std::ceil(x); });
    case Function::kSqrt: return vector_kernel<T, T>([](T x) { return std::sqrt(x); });
    case Function::kRsqrt: return vector_kernel<T, T>([](T x) { return T(1) / std::sqrt(x); });
    case Function::kCbrt: return scalar_kernel<T, T>([](T x) { return std::cbrt(x); });
    case Function::kExp: return scalar_kernel<T, T>([](T x) { return std::exp(x); });
    case Function::kLog: return scalar_kernel<T, T>([](T x) { return std::log(x); });
    case Function::kLog2: return scalar_kernel<T, T>([](T x) { return std::log2(x); });
    case Function::kLog10: return scalar_kernel<T, T>([](T x) { return std::log10(x); });
    case Function::kSin: return scalar_kernel<T, T>([](T x) { return std::sin(x); });
    case Function::kCos: return scalar_kernel<T, T>([](T x) { return std::cos(x); });
    case Function::kTan: return scalar_kernel<T, T>([](T x) { return std::tan(x); });
    case Function::kAsin: return scalar_kernel<T, T>([](T x) { return std::asin(x); });
    case Function::kAcos: return scalar_kernel<T, T>([](T x) { return std::acos(x); });
    case Function::kAtan: return scalar_kernel<T, T>([](T x) { return std::atan(x); });
    case Function::kSinh: return scalar_kernel<T, T>([](T x) { return std::sinh(x); });
    case Function::kCosh: return scalar_kernel<T, T>([](T x) { return std::cosh(x); });
    case Function::kTanh: return scalar_kernel<T, T>([](T x) { return std::tanh(x); });
    case Function::kAsinh: return scalar_kernel<T, T>([](T x) { return std::asinh(x); });
    case Function::kAcosh: return scalar_kernel<T, T>([](T x) { return std::acosh(x); });
    case Function::kAtanh: return scalar_kernel<T, T>([](T x) { return std::atanh(x); });
    default: return nullptr;
  }
}

}  // namespace

TileKernel unary_kernel(Function function, DType type) {
  if (type == DType::kFloat32) return kernel_of<float>(function);
  if (type == DType::kFloat64) return kernel_of<double>(function);
  return nullptr;
}

}  // namespace headrace
