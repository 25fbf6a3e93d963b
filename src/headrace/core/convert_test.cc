// Conversion of numbers: every pair of types against long double, which holds all of their values exactly.
#include "core/convert.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace headrace {
namespace {

template <typename T> long double exact(T x) {
  if constexpr (is_half_type<T>)
    return static_cast<float>(x);
  else
    return static_cast<long double>(x);
}

// The rule of core/convert.h in plain words. `round`: half away; else towards zero.
template <typename To> To expected(long double x, bool round) {
  if constexpr (is_half_type<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(x);
  } else if constexpr (std::is_same_v<To, bool>) {
    return std::isnan(x) || std::roundl(x) != 0;
  } else {
    using Limits = std::numeric_limits<To>;
    if (std::isnan(x)) return sizeof(To) <= 2 ? To(0) : Limits::min();
    const long double whole = round ? std::roundl(x) : std::truncl(x);
    if (whole <= static_cast<long double>(Limits::min())) return Limits::min();
    if (whole >= static_cast<long double>(Limits::max())) return Limits::max();
    return static_cast<To>(whole);
  }
}

// Values around every limit, ties and their neighbours, infinities and NaN, as far as T has them.
template <typename T> std::vector<T> interesting_values() {
  std::vector<T> values;
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    for (int shift = 0; shift < 8 * static_cast<int>(sizeof(T)); ++shift) {
      for (int offset = -2; offset <= 2; ++offset) {
        values.push_back(static_cast<T>((uint64_t{1} << shift) + static_cast<uint64_t>(offset)));
        values.push_back(static_cast<T>(-(uint64_t{1} << shift) + static_cast<uint64_t>(offset)));
      }
    }
    values.insert(values.end(), {Limits::min(), Limits::max(), T(0)});
    return values;
  } else {
    using Float = std::conditional_t<is_half_type<T>, float, T>;
    for (Float v :
         {0.0,     0.25,    0.5,     0.75,    1.5,     2.5,       126.5,     127.5, 128.5, 254.5, 255.5, 32766.5,
          32767.5, 65534.5, 65535.5, 65519.0, 65520.0, 8388607.5, 4194303.5, 1e10,  1e-8,  1e-30, 1e30}) {
      for (Float n : {v, std::nextafter(v, Float(0)), std::nextafter(v, Float(1e38))}) {
        values.insert(values.end(), {T(n), T(-n)});
      }
    }
    for (int exponent : {7, 8, 15, 16, 31, 32, 63, 64, 100, 127}) {
      const Float power = std::ldexp(Float(1), exponent);
      for (Float n : {power, power - Float(0.5), std::nextafter(power, Float(0))}) {
        values.insert(values.end(), {T(n), T(-n)});
      }
    }
    const Float infinity = std::numeric_limits<Float>::infinity();
    values.insert(values.end(), {T(infinity), T(-infinity), T(std::numeric_limits<Float>::quiet_NaN())});
    return values;
  }
}

void expect(bool good, const char* function, long double x, DType from, DType to, long double got) {
  EXPECT_TRUE(good) << function << " " << x << " from " << dtype_name(from) << " to " << dtype_name(to) << ": " << got;
}

// Bit by bit, but for NaN, whose payload doesn't matter.
template <typename T> bool same(T a, T b) {
  return (std::isnan(exact(a)) && std::isnan(exact(b))) || std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <typename From, typename To> void check_pair() {
  const std::vector<From> in = interesting_values<From>();
  const auto out = std::make_unique<To[]>(in.size());
  const auto bytes = std::make_unique<From[]>(in.size());  // vector<bool> has no data()
  std::copy(in.begin(), in.end(), bytes.get());
  convert_array(bytes.get(), dtype_of<From>, out.get(), dtype_of<To>, static_cast<int64_t>(in.size()));
  for (size_t i = 0; i < in.size(); ++i) {
    const From x = in[i];
    const To rounded = expected<To>(exact(x), true), truncated = expected<To>(exact(x), false);
    const auto check = [&](const char* function, To got, To want) {
      expect(same(got, want), function, exact(x), dtype_of<From>, dtype_of<To>, exact(got));
    };
    check("convert", convert<To>(x), rounded);
    check("convert_array", out[i], rounded);
    check("convert_truncated", convert_truncated<To>(x), truncated);
  }
}

template <typename From, typename... To> void check_all_to(TypeList<To...>) { (check_pair<From, To>(), ...); }

template <typename T> class Convert : public testing::Test {};
using Types = testing::Types<uint8_t, uint16_t, uint32_t, uint64_t, int8_t, int16_t, int32_t, int64_t, Float16, float,
                             double, bool, BFloat16>;
TYPED_TEST_SUITE(Convert, Types);

TYPED_TEST(Convert, EveryTargetTypeAgreesWithTheExactRule) { check_all_to<TypeParam>(AllTypes()); }

TEST(ConvertRule, TiesGoAwayFromZeroAndRangesClamp) {
  EXPECT_EQ(convert<uint8_t>(0.5f), 1);
  EXPECT_EQ(convert<uint8_t>(2.5f), 3);
  EXPECT_EQ(convert<uint8_t>(0.49999997f), 0);
  EXPECT_EQ(convert<int8_t>(-0.5f), -1);
  EXPECT_EQ(convert<uint8_t>(-300), 0);
  EXPECT_EQ(convert<int64_t>(std::numeric_limits<uint64_t>::max()), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(convert_truncated<int8_t>(-2.9), -2);
}

}  // namespace
}  // namespace headrace
