// Conversion of numbers between element types: the two rules that operators follow, for one value and for arrays.
//
// Floats become integers rounded (ties away from zero) or truncated, and are then clamped to the range of the type;
// integers are clamped. NaN becomes 0 for types of 8 and 16 bits, else the smallest value of the type. Floats become
// smaller floats rounded to nearest even, with infinity beyond the range. Anything but zero (for floats: what doesn't
// round to zero) becomes true; true becomes 1. All conversions from and to 16-bit floats go by way of float.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/dtype.h"

namespace headrace {

template <typename T> constexpr bool is_half_type = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// x plus a half away from zero, so that truncating the sum rounds x to nearest, ties away from zero: std::round without
// the call into libm, in loops that vectorise for every target.
template <typename F> inline F bias_for_rounding(F x) {
  // The largest number below 1/2: with 1/2 itself 0.49999997f + 0.5f would already be 1.
  constexpr F kBelowHalf = F(0.5) - std::numeric_limits<F>::epsilon() / 4;
  return x + std::copysign(kBelowHalf, x);
}

// A float to an integer type: towards zero, clamped.
template <typename To, typename F> inline To truncate_to_integer(F x) {
  static_assert(std::is_floating_point_v<F>);
  using Limits = std::numeric_limits<To>;
  if constexpr (sizeof(To) <= 2) {
    // The bounds are floats, and all between fits int32: clamp, then convert, which is what SIMD units can do.
    x = x > F(Limits::max()) ? F(Limits::max()) : x;
    x = x < F(Limits::min()) ? F(Limits::min()) : x;
    x = x == x ? x : F(0);
    return static_cast<To>(static_cast<int32_t>(x));
  } else {
    // max() may not be a float, but max() + 1 = 2^n is.
    constexpr To kHalf = Limits::max() / 2 + 1;
    constexpr F kEnd = F(kHalf) * 2;
    constexpr F kBegin = F(Limits::min());
    const bool above = x >= kEnd;
    const bool inside = x >= kBegin && !above;
    const To value = static_cast<To>(inside ? x : F(0));
    return above ? Limits::max() : inside ? value : Limits::min();
  }
}

template <typename To, typename From> inline To clamp_integer(From x) {
  using Limits = std::numeric_limits<To>;
  constexpr bool kLow = std::cmp_less(std::numeric_limits<From>::min(), Limits::min());
  constexpr bool kHigh = std::cmp_greater(std::numeric_limits<From>::max(), Limits::max());
  if constexpr (kLow) x = x < static_cast<From>(Limits::min()) ? static_cast<From>(Limits::min()) : x;
  if constexpr (kHigh) x = x > static_cast<From>(Limits::max()) ? static_cast<From>(Limits::max()) : x;
  return static_cast<To>(x);
}

// Rounds half away from zero and clamps: the rule of cast and of most image operators (see the head of the file).
template <typename To, typename From> inline To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<From, bool>) {
    return convert<To>(static_cast<uint8_t>(x));
  } else if constexpr (is_half_type<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (is_half_type<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(x);
  } else if constexpr (std::is_same_v<To, bool>) {
    if constexpr (std::is_floating_point_v<From>)
      return !(std::abs(x) < From(0.5));
    else
      return x != 0;
  } else if constexpr (std::is_floating_point_v<From>) {
    return truncate_to_integer<To>(bias_for_rounding(x));
  } else {
    return clamp_integer<To>(x);
  }
}

// Like convert(), but floats become integers by truncation.
template <typename To, typename From> inline To convert_truncated(From x) {
  if constexpr (is_half_type<From>) {
    return convert_truncated<To>(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
    return truncate_to_integer<To>(x);
  } else {
    return convert<To>(x);
  }
}

// convert() for `count` elements whose types are known at run time. `from` and `to` don't overlap.
void convert_array(const void* from, DType from_type, void* to, DType to_type, int64_t count);

}  // namespace headrace
