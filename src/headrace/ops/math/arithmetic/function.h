// The functions that an arithmetic node can evaluate: their names, operands, and type rules.
#pragma once

#include <cstdint>
#include <string_view>

namespace headrace {

enum class Function : uint8_t {
  kAdd,
  kSub,
  kMul,
  kFloorDiv,
  kMod,
  kPow,
  kMin,
  kMax,
  kClamp,
  kTrueDiv,
  kFPow,
  kAtan2,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kBitAnd,
  kBitOr,
  kBitXor,
  kLeftShift,
  kRightShift,
  kInvert,
  kNegate,
  kAbs,
  kFabs,
  kFloor,
  kCeil,
  kSqrt,
  kRsqrt,
  kCbrt,
  kExp,
  kLog,
  kLog2,
  kLog10,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
};

// How the result's type follows from the operands' (evaluation.h).
enum class TypeRule : uint8_t {
  kPromoted,    // the promoted type of all operands; not all bool
  kProduct,     // the same, all bool allowed
  kReal,        // double if any operand is, else float; not all bool
  kComparison,  // bool
  kBitwise,     // the promoted type of integers and bools
  kKept,        // the operand's; not bool
  kRealKept,    // float for integers, else the operand's; not bool
};

struct FunctionInfo {
  std::string_view name;
  Function function;
  int operands;
  TypeRule rule;
};

// A kValue error that lists the names if there is none of that name.
const FunctionInfo& find_function(std::string_view name);

}  // namespace headrace
