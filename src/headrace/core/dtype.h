// Element types: the enumeration, its names and sizes, and dispatch from a runtime type to a C++ type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/error.h"
#include "core/half.h"

namespace headrace {

// The numbers are those of DALI's DALIDataType, so that the Python enumeration needs no table.
enum class DType : int8_t {
  kNone = -1,
  kUInt8 = 0,
  kUInt16 = 1,
  kUInt32 = 2,
  kUInt64 = 3,
  kInt8 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kFloat16 = 8,
  kFloat32 = 9,
  kFloat64 = 10,
  kBool = 11,
  kBFloat16 = 28,
};

// Bytes of one element; 0 for kNone.
constexpr size_t dtype_size(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kBool: return 1;
    case DType::kUInt16:
    case DType::kInt16:
    case DType::kFloat16:
    case DType::kBFloat16: return 2;
    case DType::kUInt32:
    case DType::kInt32:
    case DType::kFloat32: return 4;
    case DType::kUInt64:
    case DType::kInt64:
    case DType::kFloat64: return 8;
    case DType::kNone: break;
  }
  return 0;
}

// The name that messages use: "uint8", "float", "bool", as DALI prints them.
std::string_view dtype_name(DType dtype);

constexpr bool is_floating(DType t) {
  return t == DType::kFloat16 || t == DType::kFloat32 || t == DType::kFloat64 || t == DType::kBFloat16;
}
constexpr bool is_integer(DType t) { return t >= DType::kUInt8 && t <= DType::kInt64; }
constexpr bool is_signed(DType t) { return (t >= DType::kInt8 && t <= DType::kInt64) || is_floating(t); }

template <typename T> constexpr DType dtype_of = DType::kNone;
template <> inline constexpr DType dtype_of<uint8_t> = DType::kUInt8;
template <> inline constexpr DType dtype_of<uint16_t> = DType::kUInt16;
template <> inline constexpr DType dtype_of<uint32_t> = DType::kUInt32;
template <> inline constexpr DType dtype_of<uint64_t> = DType::kUInt64;
template <> inline constexpr DType dtype_of<int8_t> = DType::kInt8;
template <> inline constexpr DType dtype_of<int16_t> = DType::kInt16;
template <> inline constexpr DType dtype_of<int32_t> = DType::kInt32;
template <> inline constexpr DType dtype_of<int64_t> = DType::kInt64;
template <> inline constexpr DType dtype_of<Float16> = DType::kFloat16;
template <> inline constexpr DType dtype_of<float> = DType::kFloat32;
template <> inline constexpr DType dtype_of<double> = DType::kFloat64;
template <> inline constexpr DType dtype_of<bool> = DType::kBool;
template <> inline constexpr DType dtype_of<BFloat16> = DType::kBFloat16;

template <typename... Ts> struct TypeList {};

using IntegerTypes = TypeList<uint8_t, uint16_t, uint32_t, uint64_t, int8_t, int16_t, int32_t, int64_t>;
using AllTypes = TypeList<uint8_t, uint16_t, uint32_t, uint64_t, int8_t, int16_t, int32_t, int64_t, Float16, float,
                          double, bool, BFloat16>;

// Calls f.operator()<T>() for the T of the list whose dtype is `dtype`. An unlisted type is an error that names
// `what`, for example "[crop] input". Dispatch happens once per operator, over the list that its schema states.
template <typename F, typename... Ts> void visit_dtype(DType dtype, TypeList<Ts...>, std::string_view what, F&& f) {
  const bool found = ((dtype == dtype_of<Ts> ? (f.template operator()<Ts>(), true) : false) || ...);
  check(found, "{}: unsupported type {}", what, dtype_name(dtype));
}

}  // namespace headrace
