// _arithmetic_generic_op against plain loops in wide types: every pair of types, comparisons, broadcasting.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/op_tester.h"

namespace headrace {
namespace {

using Wide = __int128;

// The table of behaviour: rows and columns in the order of kTypes.
constexpr DType kTypes[] = {DType::kBool,  DType::kUInt8, DType::kUInt16, DType::kUInt32,  DType::kUInt64, DType::kInt8,
                            DType::kInt16, DType::kInt32, DType::kInt64,  DType::kFloat32, DType::kFloat64};
constexpr const char* kNames[] = {"b", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64"};
const std::vector<std::vector<std::string>> kPromoted = {
    {"b", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64"},
    {"u8", "u8", "u16", "u32", "u64", "i16", "i16", "i32", "i64", "f32", "f64"},
    {"u16", "u16", "u16", "u32", "u64", "i32", "i32", "i32", "i64", "f32", "f64"},
    {"u32", "u32", "u32", "u32", "u64", "i64", "i64", "i64", "i64", "f32", "f64"},
    {"u64", "u64", "u64", "u64", "u64", "i64", "i64", "i64", "i64", "f32", "f64"},
    {"i8", "i16", "i32", "i64", "i64", "i8", "i16", "i32", "i64", "f32", "f64"},
    {"i16", "i16", "i32", "i64", "i64", "i16", "i16", "i32", "i64", "f32", "f64"},
    {"i32", "i32", "i32", "i64", "i64", "i32", "i32", "i32", "i64", "f32", "f64"},
    {"i64", "i64", "i64", "i64", "i64", "i64", "i64", "i64", "i64", "f32", "f64"},
    {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f64"},
    {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"}};
constexpr int kCount = static_cast<int>(std::size(kTypes));

DType type_named(const std::string& name) {
  return kTypes[std::find(std::begin(kNames), std::end(kNames), name) - std::begin(kNames)];
}

using BytesTypes =
    TypeList<uint8_t, uint16_t, uint32_t, uint64_t, int8_t, int16_t, int32_t, int64_t, float, double, bool>;

// More elements than a tile has, in a pattern that meets the other operand's in many combinations. No zeros.
TestTensor numbers(DType dtype, int step) {
  constexpr int64_t kValues[] = {1,
                                 2,
                                 3,
                                 7,
                                 100,
                                 127,
                                 -1,
                                 -2,
                                 -7,
                                 -128,
                                 255,
                                 256,
                                 32767,
                                 -32768,
                                 65535,
                                 2147483647,
                                 -2147483648,
                                 4294967295,
                                 9007199254740993,
                                 INT64_MAX,
                                 INT64_MIN};
  TestTensor tensor;
  visit_dtype(dtype, BytesTypes(), "numbers", [&]<typename T>() {
    std::vector<T> values(1100);
    int64_t at = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      T value{};
      while (value == T{}) value = static_cast<T>(kValues[at++ * step % static_cast<int64_t>(std::size(kValues))]);
      values[i] = value;
    }
    tensor = TestTensor::of<T>({1100}, values);
  });
  return tensor;
}

Wide wrap(Wide value, DType type) {
  if (type == DType::kBool) return value != 0;
  const Wide modulus = Wide(1) << (8 * dtype_size(type));
  value = ((value % modulus) + modulus) % modulus;
  return is_signed(type) && value >= modulus / 2 ? value - modulus : value;
}

// Value i as an integer of `type`; 0 for floats.
Wide integer_as(const TestTensor& tensor, size_t i, DType type) {
  Wide result = 0;
  visit_dtype(tensor.dtype, BytesTypes(), "integer_as", [&]<typename T>() {
    T value;
    std::memcpy(&value, tensor.bytes.data() + i * sizeof(T), sizeof(T));
    if constexpr (std::is_integral_v<T>) result = value;
  });
  return wrap(result, type);
}

double real_as(const TestTensor& tensor, size_t i, DType type) {
  double result = 0;
  visit_dtype(tensor.dtype, BytesTypes(), "real_as", [&]<typename From>() {
    From from;
    std::memcpy(&from, tensor.bytes.data() + i * sizeof(From), sizeof(From));
    result = type == DType::kFloat32 ? static_cast<float>(from) : static_cast<double>(from);
  });
  return result;
}

// The product modulo 2^64, by factors small enough not to overflow 128 bits.
Wide product(Wide a, Wide b) { return wrap(a, DType::kInt64) * wrap(b, DType::kInt64); }

Wide power(Wide base, Wide exponent, DType type) {
  if (exponent < 0) return 0;
  Wide result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2) result = wrap(product(result, base), type);
    base = wrap(product(base, base), type);
  }
  return result;
}

int bits_of_shift(DType type) { return dtype_size(type) == 8 ? 64 : 32; }

Wide expected_integer(const std::string& f, Wide a, Wide b, DType type) {
  if (f == "add") return a + b;
  if (f == "sub") return a - b;
  if (f == "mul") return product(a, b);
  if (f == "floordiv") return a / b;
  if (f == "mod") return a % b;
  if (f == "pow") return power(a, b, type);
  if (f == "min") return std::min(a, b);
  if (f == "max") return std::max(a, b);
  if (f == "bitand") return a & b;
  if (f == "bitor") return a | b;
  if (f == "bitxor") return a ^ b;
  const int count = static_cast<int>(wrap(b, DType::kUInt8)) % bits_of_shift(type);
  if (f == "lshift") return count > 63 ? 0 : wrap(a, DType::kUInt64) << std::min(count, 63);
  return a >> count;
}

double expected_real(const std::string& f, double a, double b, DType type) {
  const bool single = type == DType::kFloat32;
  const auto rounded = [&](double x) { return single ? static_cast<float>(x) : x; };
  if (f == "add") return rounded(a + b);
  if (f == "sub") return rounded(a - b);
  if (f == "mul") return rounded(a * b);
  if (f == "floordiv" || f == "truediv") return rounded(a / b);
  if (f == "mod") return std::fmod(a, b);
  if (f == "pow" || f == "fpow")
    return single ? std::pow(static_cast<float>(a), static_cast<float>(b)) : std::pow(a, b);
  if (f == "atan2") return single ? std::atan2(static_cast<float>(a), static_cast<float>(b)) : std::atan2(a, b);
  return f == "min" ? (a < b ? a : b) : (a > b ? a : b);
}

OpTester arithmetic(const std::string& function, int inputs, ArgMap constants = {}) {
  constants["function"] = function;
  return OpTester("_arithmetic_generic_op", constants, {}, inputs);
}

void check_pair(const std::string& f, DType left, DType right, DType type) {
  SCOPED_TRACE(f + " " + std::string(dtype_name(left)) + " " + std::string(dtype_name(right)));
  const TestTensor a = numbers(left, 1), b = numbers(right, 4);
  const TestTensor out = arithmetic(f, 2).run({a, b})[0];
  ASSERT_EQ(out.dtype, type);
  int wrong = 0;
  for (size_t i = 0; i < 1100; ++i) {
    if (is_floating(type)) {
      const double want = expected_real(f, real_as(a, i, type), real_as(b, i, type), type), got = real_as(out, i, type);
      wrong += !(want == got || (std::isnan(want) && std::isnan(got)));
    } else {
      const Wide want = expected_integer(f, integer_as(a, i, type), integer_as(b, i, type), type);
      wrong += wrap(want, type) != integer_as(out, i, type);
    }
  }
  EXPECT_EQ(wrong, 0);
}

class TypePairs : public testing::TestWithParam<const char*> {};

TEST_P(TypePairs, AgreeWithWideLoops) {
  const std::string f = GetParam();
  const bool real = f == "truediv" || f == "fpow" || f == "atan2";
  const bool bits = f.starts_with("bit") || f.ends_with("shift");
  for (int i = 0; i < kCount; ++i) {
    for (int j = 0; j < kCount; ++j) {
      DType type = type_named(kPromoted[i][j]);
      if (real) type = type == DType::kFloat64 ? type : DType::kFloat32;
      const bool refused = (i + j == 0 && !bits && f != "mul") || (bits && is_floating(type));
      if (refused)
        EXPECT_THROW(arithmetic(f, 2).run({numbers(kTypes[i], 1), numbers(kTypes[j], 4)}), Error);
      else
        check_pair(f, kTypes[i], kTypes[j], type);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, TypePairs,
                         testing::Values("add", "sub", "mul", "floordiv", "mod", "pow", "min", "max", "truediv", "fpow",
                                         "atan2", "bitand", "bitor", "bitxor", "lshift", "rshift"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Arithmetic, ComparesIntegersByTheirValues) {
  for (const char* f : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    for (int i = 0; i < kCount; ++i) {
      for (int j = 0; j < kCount; ++j) {
        SCOPED_TRACE(std::string(f) + " " + kNames[i] + " " + kNames[j]);
        const TestTensor a = numbers(kTypes[i], 1), b = numbers(kTypes[j], 4);
        const auto out = arithmetic(f, 2).run({a, b})[0].values<bool>();
        const DType type = type_named(kPromoted[i][j]);
        int wrong = 0;
        for (size_t k = 0; k < out.size(); ++k) {
          int order = 0;
          if (is_floating(type)) {
            const double x = real_as(a, k, type), y = real_as(b, k, type);
            order = (x > y) - (x < y);
          } else {
            const Wide x = integer_as(a, k, a.dtype), y = integer_as(b, k, b.dtype);
            order = (x > y) - (x < y);
          }
          const std::string name = f;
          const bool want = name == "eq"   ? order == 0
                            : name == "ne" ? order != 0
                            : name == "lt" ? order < 0
                            : name == "le" ? order <= 0
                            : name == "gt" ? order > 0
                                           : order >= 0;
          wrong += want != out[k];
        }
        EXPECT_EQ(wrong, 0);
      }
    }
  }
}

TEST(Arithmetic, BroadcastsAsAPlainLoop) {
  const std::vector<std::pair<Shape, Shape>> pairs = {{{}, {}},
                                                      {{5}, {}},
                                                      {{1}, {3}},
                                                      {{2, 3}, {3}},
                                                      {{2, 3}, {2, 1}},
                                                      {{4, 1}, {1, 5}},
                                                      {{7, 9, 3}, {3}},
                                                      {{7, 9, 3}, {7, 9, 1}},
                                                      {{7, 9, 3}, {1, 9, 1}},
                                                      {{20, 1, 60}, {20, 30, 1}},
                                                      {{3, 700}, {700}},
                                                      {{3, 700}, {3, 1}},
                                                      {{2, 1, 3, 1, 2}, {1, 4, 3, 5, 1}},
                                                      {{0, 3}, {1, 3}},
                                                      {{600}, {2, 1}}};
  for (const auto& [left, right] : pairs) {
    SCOPED_TRACE(to_string(left) + " " + to_string(right));
    std::vector<int16_t> a(static_cast<size_t>(left.volume()));
    std::vector<float> b(static_cast<size_t>(right.volume()));
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int16_t>(3 * i);
    for (size_t i = 0; i < b.size(); ++i) b[i] = 0.5f * static_cast<float>(i) + 1000;
    const TestTensor out = arithmetic("sub", 2).run({TestTensor::of(left, a), TestTensor::of(right, b)})[0];
    const int ndim = std::max(left.ndim(), right.ndim());
    ASSERT_EQ(out.shape.ndim(), ndim);
    const auto values = out.values<float>();
    for (size_t k = 0; k < values.size(); ++k) {
      // The positions in both operands from the position in the result.
      int64_t rest = static_cast<int64_t>(k), at_a = 0, at_b = 0, size_a = 1, size_b = 1;
      for (int axis = 1; axis <= ndim; ++axis) {
        const int64_t index = rest % out.shape[ndim - axis];
        rest /= out.shape[ndim - axis];
        const int64_t extent_a = axis <= left.ndim() ? left[left.ndim() - axis] : 1;
        const int64_t extent_b = axis <= right.ndim() ? right[right.ndim() - axis] : 1;
        at_a += extent_a == 1 ? 0 : index * size_a;
        at_b += extent_b == 1 ? 0 : index * size_b;
        size_a *= extent_a;
        size_b *= extent_b;
      }
      ASSERT_EQ(values[k], static_cast<float>(a[static_cast<size_t>(at_a)]) - b[static_cast<size_t>(at_b)]) << k;
    }
  }
}

}  // namespace
}  // namespace headrace
