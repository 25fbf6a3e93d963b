// Quotients and remainders. Integer quotients are truncated; a zero among integer divisors is an error.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/error.h"
#include "ops/math/arithmetic/kernels.h"

namespace headrace {
namespace {

// a / b towards zero, wrapping where the result doesn't fit (the smallest number by -1). b is not 0.
//
// Note [division of small integers]: processors have no vector division of integers. A float holds 16-bit operands
// exactly, a double 32-bit ones, and |a / b| * 2^-24 (2^-53) is less than 1 / |b|, the least distance of a / b from an
// integer that it isn't; so the rounded quotient truncates to the right one.
template <typename T> T quotient(T a, T b) {
  if constexpr (sizeof(T) <= 2) {
    return static_cast<T>(static_cast<int32_t>(static_cast<float>(a) / static_cast<float>(b)));
  } else if constexpr (std::is_same_v<T, int32_t>) {
    const double q = static_cast<double>(a) / static_cast<double>(b);
    return static_cast<int32_t>(q > 2147483647.0 ? -2147483648.0 : q);
  } else if constexpr (std::is_signed_v<T>) {
    return b == -1 ? static_cast<T>(0 - static_cast<uint64_t>(a)) : a / b;
  } else {
    return a / b;
  }
}

template <typename T> T remainder(T a, T b) {
  using U = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
  return static_cast<T>(U(a) - U(quotient(a, b)) * U(b));
}

// The kernel F after a search for zeros among the divisors.
template <typename T, typename F> void checked(void* out, const void* const* in, int64_t count) {
  const T* divisors = static_cast<const T*>(in[1]);
  bool zero = false;
  for (int64_t i = 0; i < count; ++i) zero |= divisors[i] == 0;
  check_value(!zero, "[arithmetic] integer division by zero: make the divisor a float, or keep zeros out of it");
  static const TileKernel kernel = vector_kernel<T, T, T>(F{});
  kernel(out, in, count);
}

template <typename T, typename F> TileKernel checked_kernel(F) { return checked<T, F>; }

template <typename T> TileKernel integer_kernel(Function function) {
  if (function == Function::kFloorDiv) return checked_kernel<T>([](T a, T b) { return quotient(a, b); });
  if (function == Function::kMod) return checked_kernel<T>([](T a, T b) { return remainder(a, b); });
  return nullptr;
}

template <typename T> TileKernel real_kernel(Function function) {
  if (function == Function::kMod) return scalar_kernel<T, T, T>([](T a, T b) { return std::fmod(a, b); });
  return vector_kernel<T, T, T>([](T a, T b) { return a / b; });
}

template <typename T> TileKernel kernel_of(Function function) {
  if constexpr (std::is_floating_point_v<T>)
    return real_kernel<T>(function);
  else
    return integer_kernel<T>(function);
}

}  // namespace

TileKernel division_kernel(Function function, DType type) {
  TileKernel kernel = nullptr;
  visit_dtype(type, NumericTypes(), "[arithmetic] operands", [&]<typename T>() { kernel = kernel_of<T>(function); });
  return kernel;
}

}  // namespace headrace
