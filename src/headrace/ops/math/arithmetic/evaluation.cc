// Type promotion and the choice of kernels.
#include "ops/math/arithmetic/evaluation.h"

#include <algorithm>
#include <string>

namespace headrace {
namespace {

DType integer_of(size_t bytes, bool with_sign) {
  const DType first = with_sign ? DType::kInt8 : DType::kUInt8;
  const int log2 = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
  return static_cast<DType>(static_cast<int>(first) + log2);
}

// The unsigned type of the same bits; floats stay.
DType unsigned_of(DType type) { return is_floating(type) ? type : integer_of(dtype_size(type), false); }

void check_operands(const FunctionInfo& info, std::span<const DType> operands) {
  std::string names;
  bool supported = true;
  bool all_bool = true;
  bool any_float = false;
  for (DType type : operands) {
    names += (names.empty() ? "" : ", ") + std::string(dtype_name(type));
    supported =
        supported && (is_integer(type) || type == DType::kBool || type == DType::kFloat32 || type == DType::kFloat64);
    all_bool = all_bool && type == DType::kBool;
    any_float = any_float || is_floating(type);
  }
  check(supported, "[arithmetic] {}: expected operands of type bool, integer, float or double, got {}; cast them first",
        info.name, names);
  const bool takes_bool =
      info.rule == TypeRule::kProduct || info.rule == TypeRule::kComparison || info.rule == TypeRule::kBitwise;
  check(takes_bool || !all_bool, "[arithmetic] {}: operands can't all be bool; use &, |, ^, or cast one to a number",
        info.name);
  check(info.rule != TypeRule::kBitwise || !any_float,
        "[arithmetic] {}: expected operands of type bool or integer, got {}; cast them first", info.name, names);
}

DType promote_all(std::span<const DType> operands) {
  DType type = operands[0];
  for (DType other : operands.subspan(1)) type = promote(type, other);
  return type;
}

DType result_type(TypeRule rule, DType promoted) {
  const bool is_double = promoted == DType::kFloat64;
  switch (rule) {
    case TypeRule::kComparison: return DType::kBool;
    case TypeRule::kReal:
    case TypeRule::kRealKept: return is_double ? DType::kFloat64 : DType::kFloat32;
    default: return promoted;
  }
}

// Kernels know bool as uint8 where the two come out the same.
TileKernel find_kernel(const FunctionInfo& info, DType type) {
  const DType number = type == DType::kBool ? DType::kUInt8 : type;
  switch (info.function) {
    case Function::kAdd:
    case Function::kSub:
    case Function::kMul:
    case Function::kNegate: return wrapping_kernel(info.function, unsigned_of(number));
    case Function::kAbs: return wrapping_kernel(info.function, number);
    case Function::kFloorDiv:
    case Function::kMod:
    case Function::kTrueDiv: return division_kernel(info.function, number);
    case Function::kPow:
    case Function::kFPow:
    case Function::kAtan2: return power_kernel(info.function, number);
    case Function::kMin:
    case Function::kMax:
    case Function::kClamp: return order_kernel(info.function, number);
    default:
      return info.rule == TypeRule::kBitwise ? bitwise_kernel(info.function, type) : unary_kernel(info.function, type);
  }
}

Evaluation comparison(const FunctionInfo& info, DType left, DType right, DType promoted) {
  const bool mixed = promoted == DType::kInt64 && left != right && (left == DType::kUInt64 || right == DType::kUInt64);
  const DType type = promoted == DType::kBool ? DType::kUInt8 : promoted;
  Evaluation evaluation{.operand_types = {type, type}, .result = DType::kBool};
  if (mixed) evaluation.operand_types[left == DType::kUInt64 ? 0 : 1] = DType::kUInt64;
  evaluation.kernel = comparison_kernel(info.function, evaluation.operand_types[0], evaluation.operand_types[1]);
  return evaluation;
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b || b == DType::kBool) return a;
  if (a == DType::kBool) return b;
  if (is_floating(a) || is_floating(b)) {
    return a == DType::kFloat64 || b == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  }
  const size_t bytes = std::max(dtype_size(a), dtype_size(b));
  if (is_signed(a) == is_signed(b)) return integer_of(bytes, is_signed(a));
  const size_t unsigned_bytes = dtype_size(is_signed(a) ? b : a);
  return integer_of(std::min<size_t>(std::max(bytes, 2 * unsigned_bytes), 8), true);
}

Evaluation evaluate_as(const FunctionInfo& info, std::span<const DType> operands) {
  check_operands(info, operands);
  const DType promoted = promote_all(operands);
  if (info.rule == TypeRule::kComparison) return comparison(info, operands[0], operands[1], promoted);
  const DType result = result_type(info.rule, promoted);
  Evaluation evaluation{
      .kernel = find_kernel(info, result), .operand_types = {result, result, result}, .result = result};
  check_internal(evaluation.kernel, "[arithmetic] {}: no kernel for {}", info.name, dtype_name(result));
  return evaluation;
}

}  // namespace headrace
