// Bitwise functions and shifts.
#include <type_traits>

#include "ops/math/arithmetic/kernels.h"

namespace headrace {
namespace {

// Shifts happen in at least 32 bits, with the count modulo that width.
template <typename T>
using ShiftType = std::conditional_t<sizeof(T) <= 4, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>, T>;

template <typename T> int shift_count(T count) { return static_cast<int>(count & T(sizeof(ShiftType<T>) * 8 - 1)); }

template <typename T> TileKernel logic_kernel(Function function) {
  switch (function) {
    case Function::kBitAnd: return vector_kernel<T, T, T>([](T a, T b) { return static_cast<T>(a & b); });
    case Function::kBitOr: return vector_kernel<T, T, T>([](T a, T b) { return static_cast<T>(a | b); });
    case Function::kBitXor: return vector_kernel<T, T, T>([](T a, T b) { return static_cast<T>(a ^ b); });
    case Function::kInvert: return vector_kernel<T, T>([](T a) { return static_cast<T>(~a); });
    case Function::kLeftShift:
      return vector_kernel<T, T, T>([](T a, T b) { return static_cast<T>(ShiftType<T>(a) << shift_count(b)); });
    default: return nullptr;
  }
}

template <typename T> TileKernel right_shift() {
  return vector_kernel<T, T, T>([](T a, T b) { return static_cast<T>(ShiftType<T>(a) >> shift_count(b)); });
}

TileKernel bool_kernel(Function function) {
  switch (function) {
    case Function::kInvert: return vector_kernel<uint8_t, uint8_t>([](uint8_t a) -> uint8_t { return a ^ 1; });
    // As integers, then != 0: a true shifted left stays true.
    case Function::kLeftShift:
      return vector_kernel<uint8_t, uint8_t, uint8_t>([](uint8_t a, uint8_t) -> uint8_t { return a; });
    case Function::kRightShift:
      return vector_kernel<uint8_t, uint8_t, uint8_t>([](uint8_t a, uint8_t b) -> uint8_t { return a & ~b; });
    default: return logic_kernel<uint8_t>(function);
  }
}

}  // namespace

TileKernel bitwise_kernel(Function function, DType type) {
  const bool right = function == Function::kRightShift;
  switch (type) {
    case DType::kBool: return bool_kernel(function);
    case DType::kUInt8: return right ? right_shift<uint8_t>() : logic_kernel<uint8_t>(function);
    case DType::kUInt16: return right ? right_shift<uint16_t>() : logic_kernel<uint16_t>(function);
    case DType::kUInt32: return right ? right_shift<uint32_t>() : logic_kernel<uint32_t>(function);
    case DType::kUInt64: return right ? right_shift<uint64_t>() : logic_kernel<uint64_t>(function);
    case DType::kInt8: return right ? right_shift<int8_t>() : logic_kernel<uint8_t>(function);
    case DType::kInt16: return right ? right_shift<int16_t>() : logic_kernel<uint16_t>(function);
    case DType::kInt32: return right ? right_shift<int32_t>() : logic_kernel<uint32_t>(function);
    case DType::kInt64: return right ? right_shift<int64_t>() : logic_kernel<uint64_t>(function);
    default: return nullptr;
  }
}

}  // namespace headrace
