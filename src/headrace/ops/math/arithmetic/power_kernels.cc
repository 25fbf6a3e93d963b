// Powers and atan2.
#include <cmath>
#include <type_traits>

#include "ops/math/arithmetic/kernels.h"

namespace headrace {
namespace {

// What products of T are computed in: unsigned and as wide as int at least, so that they can't overflow.
template <typename T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, T, std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>>;

// By squaring; wraps. A negative exponent gives 0 whatever the base, as DALI has it.
template <typename T> T integer_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) return 0;
  }
  using U = Wide<T>;
  U factor = static_cast<U>(base);
  U power = 1;
  for (U e = static_cast<U>(exponent); e != 0; e >>= 1) {
    if (e & 1) power *= factor;
    factor *= factor;
  }
  return static_cast<T>(power);
}

// Squares are the powers that are met most: one product, and exact but for one rounding.
template <typename T, typename F> void power(void* out, const void* const* in, int64_t count) {
  static const TileKernel square = vector_kernel<T, T>([](T a) { return static_cast<T>(Wide<T>(a) * Wide<T>(a)); });
  const T* exponents = static_cast<const T*>(in[1]);
  bool squares = true;
  for (int64_t i = 0; i < count; ++i) squares &= exponents[i] == T(2);
  (squares ? square : scalar_kernel<T, T, T>(F{}))(out, in, count);
}

template <typename T, typename F> TileKernel power_of(F) { return power<T, F>; }

template <typename T> TileKernel integer_kernel(Function function) {
  if (function != Function::kPow) return nullptr;
  return power_of<T>([](T a, T b) { return integer_power(a, b); });
}

template <typename T> TileKernel real_kernel(Function function) {
  if (function == Function::kAtan2) return scalar_kernel<T, T, T>([](T a, T b) { return std::atan2(a, b); });
  return power_of<T>([](T a, T b) { return std::pow(a, b); });
}

template <typename T> TileKernel kernel_of(Function function) {
  if constexpr (std::is_floating_point_v<T>)
    return real_kernel<T>(function);
  else
    return integer_kernel<T>(function);
}

}  // namespace

TileKernel power_kernel(Function function, DType type) {
  TileKernel kernel = nullptr;
  visit_dtype(type, NumericTypes(), "[arithmetic] operands", [&]<typename T>() { kernel = kernel_of<T>(function); });
  return kernel;
}

}  // namespace headrace
