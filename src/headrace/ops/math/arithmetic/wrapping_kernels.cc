// Sums, differences, products, negation and absolute values. Integers wrap.
#include <cmath>
#include <type_traits>

#include "ops/math/arithmetic/kernels.h"

namespace headrace {
namespace {

// Unsigned and at least as wide as int, so that products can't overflow.
template <typename T>
using WideType =
    std::conditional_t<std::is_floating_point_v<T>, T, std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>>;

template <typename T> TileKernel kernel_of(Function function) {
  using W = WideType<T>;
  switch (function) {
    case Function::kAdd: return vector_kernel<T, T, T>([](T a, T b) { return static_cast<T>(W(a) + W(b)); });
    case Function::kSub: return vector_kernel<T, T, T>([](T a, T b) { return static_cast<T>(W(a) - W(b)); });
    case Function::kMul: return vector_kernel<T, T, T>([](T a, T b) { return static_cast<T>(W(a) * W(b)); });
    case Function::kNegate:
      if constexpr (std::is_floating_point_v<T>)
        return vector_kernel<T, T>([](T a) { return -a; });
      else
        return vector_kernel<T, T>([](T a) { return static_cast<T>(W(0) - W(a)); });
    case Function::kAbs:
      if constexpr (std::is_floating_point_v<T>)
        return vector_kernel<T, T>([](T a) { return std::abs(a); });
      else
        return vector_kernel<T, T>([](T a) { return a; });
    default: return nullptr;
  }
}

// The smallest value stays what it is, as two's complement has no positive counterpart.
template <typename T> TileKernel signed_abs() {
  using U = std::make_unsigned_t<T>;
  return vector_kernel<U, T>(
      [](T a) { return static_cast<U>(a < 0 ? WideType<U>(0) - WideType<U>(a) : WideType<U>(a)); });
}

}  // namespace

TileKernel wrapping_kernel(Function function, DType type) {
  switch (type) {
    case DType::kUInt8: return kernel_of<uint8_t>(function);
    case DType::kUInt16: return kernel_of<uint16_t>(function);
    case DType::kUInt32: return kernel_of<uint32_t>(function);
    case DType::kUInt64: return kernel_of<uint64_t>(function);
    case DType::kFloat32: return kernel_of<float>(function);
    case DType::kFloat64: return kernel_of<double>(function);
    case DType::kInt8: return signed_abs<int8_t>();
    case DType::kInt16: return signed_abs<int16_t>();
    case DType::kInt32: return signed_abs<int32_t>();
    case DType::kInt64: return signed_abs<int64_t>();
    default: return nullptr;
  }
}

}  // namespace headrace
