// Float16 and BFloat16 against the compiler's own conversions.
#include "core/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace headrace {
namespace {

// _Float16 is the compiler's IEEE binary16 (hardware or libgcc): an implementation that shares nothing with ours.
#ifdef __ARM_FP16_FORMAT_IEEE
using CompilerHalf = __fp16;  // g++ 12 has no _Float16 there
#else
using CompilerHalf = _Float16;
#endif

float compiler_half_to_float(uint16_t bits) { return static_cast<float>(std::bit_cast<CompilerHalf>(bits)); }
uint16_t compiler_float_to_half(float value) { return std::bit_cast<uint16_t>(static_cast<CompilerHalf>(value)); }

TEST(Float16, EveryValueConvertsToFloatAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float ours = Float16::to_float(static_cast<uint16_t>(bits));
    const float expected = compiler_half_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(ours)) << bits;
      ASSERT_TRUE(std::isnan(Float16::to_float(Float16::from_float(ours)))) << bits;
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(ours), std::bit_cast<uint32_t>(expected)) << bits;
      ASSERT_EQ(Float16::from_float(ours), bits);
    }
  }
}

// The floats where rounding decides: each half value, the midpoint to the next one, and the neighbours of both.
TEST(Float16, RoundsLikeTheCompilerAroundEveryValueAndMidpoint) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const float low = compiler_half_to_float(static_cast<uint16_t>(bits));
    const float high = bits == 0x7bff ? 65536.0f : compiler_half_to_float(static_cast<uint16_t>(bits + 1));
    for (const float center : {low, low + (high - low) / 2}) {
      for (const float value : {std::nextafter(center, -1.0f), center, std::nextafter(center, 1e9f)}) {
        ASSERT_EQ(Float16(value).bits, compiler_float_to_half(value)) << value;
        ASSERT_EQ(Float16(-value).bits, compiler_float_to_half(-value)) << -value;
      }
    }
  }
}

TEST(Float16, RoundsLikeTheCompilerOverTheWholeFloatRange) {
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 65521 * 16 + 1) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(Float16(value).bits, compiler_float_to_half(value)) << value;
  }
}

// The oracle works in double, where the sum of a bfloat16 and half a step is exact.
uint16_t nearest_bfloat16(float value) {
  const uint16_t down = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
  const auto widen = [](uint32_t upper) { return static_cast<double>(std::bit_cast<float>(upper << 16)); };
  const double low = widen(down);
  const bool up_is_infinite = (down & 0x7fff) == 0x7f7f;
  const double high = up_is_infinite ? std::copysign(0x1p128, low) : widen(down + 1u);
  const double to_low = std::abs(value - low);
  const double to_high = std::abs(high - value);
  const bool up = to_high < to_low || (to_high == to_low && (down & 1));
  return up ? static_cast<uint16_t>(down + 1) : down;
}

TEST(BFloat16, RoundsToNearestEven) {
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 0x1000 - 1) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(BFloat16(value).bits, nearest_bfloat16(value)) << value;
  }
  for (uint32_t upper = 0; upper < 0x7f80; ++upper) {  // exact ties
    const float tie = std::bit_cast<float>((upper << 16) | 0x8000u);
    ASSERT_EQ(BFloat16(tie).bits, nearest_bfloat16(tie)) << tie;
  }
}

TEST(BFloat16, KeepsInfinityAndNan) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(static_cast<float>(BFloat16(infinity)), infinity);
  EXPECT_EQ(static_cast<float>(BFloat16(-infinity)), -infinity);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0x7f800001u)))));
}

}  // namespace
}  // namespace headrace
