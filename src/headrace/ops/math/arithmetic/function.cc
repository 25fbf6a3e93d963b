// The table of functions.
#include "ops/math/arithmetic/function.h"

#include <string>

#include "core/error.h"

namespace headrace {
namespace {

constexpr FunctionInfo kFunctions[] = {
    {"add", Function::kAdd, 2, TypeRule::kPromoted},
    {"sub", Function::kSub, 2, TypeRule::kPromoted},
    {"mul", Function::kMul, 2, TypeRule::kProduct},
    {"floordiv", Function::kFloorDiv, 2, TypeRule::kPromoted},
    {"mod", Function::kMod, 2, TypeRule::kPromoted},
    {"pow", Function::kPow, 2, TypeRule::kPromoted},
    {"min", Function::kMin, 2, TypeRule::kPromoted},
    {"max", Function::kMax, 2, TypeRule::kPromoted},
    {"clamp", Function::kClamp, 3, TypeRule::kPromoted},
    {"truediv", Function::kTrueDiv, 2, TypeRule::kReal},
    {"fpow", Function::kFPow, 2, TypeRule::kReal},
    {"atan2", Function::kAtan2, 2, TypeRule::kReal},
    {"eq", Function::kEqual, 2, TypeRule::kComparison},
    {"ne", Function::kNotEqual, 2, TypeRule::kComparison},
    {"lt", Function::kLess, 2, TypeRule::kComparison},
    {"le", Function::kLessEqual, 2, TypeRule::kComparison},
    {"gt", Function::kGreater, 2, TypeRule::kComparison},
    {"ge", Function::kGreaterEqual, 2, TypeRule::kComparison},
    {"bitand", Function::kBitAnd, 2, TypeRule::kBitwise},
    {"bitor", Function::kBitOr, 2, TypeRule::kBitwise},
    {"bitxor", Function::kBitXor, 2, TypeRule::kBitwise},
    {"lshift", Function::kLeftShift, 2, TypeRule::kBitwise},
    {"rshift", Function::kRightShift, 2, TypeRule::kBitwise},
    {"invert", Function::kInvert, 1, TypeRule::kBitwise},
    {"neg", Function::kNegate, 1, TypeRule::kKept},
    {"abs", Function::kAbs, 1, TypeRule::kKept},
    {"fabs", Function::kFabs, 1, TypeRule::kRealKept},
    {"floor", Function::kFloor, 1, TypeRule::kRealKept},
    {"ceil", Function::kCeil, 1, TypeRule::kRealKept},
    {"sqrt", Function::kSqrt, 1, TypeRule::kRealKept},
    {"rsqrt", Function::kRsqrt, 1, TypeRule::kRealKept},
    {"cbrt", Function::kCbrt, 1, TypeRule::kRealKept},
    {"exp", Function::kExp, 1, TypeRule::kRealKept},
    {"log", Function::kLog, 1, TypeRule::kRealKept},
    {"log2", Function::kLog2, 1, TypeRule::kRealKept},
    {"log10", Function::kLog10, 1, TypeRule::kRealKept},
    {"sin", Function::kSin, 1, TypeRule::kRealKept},
    {"cos", Function::kCos, 1, TypeRule::kRealKept},
    {"tan", Function::kTan, 1, TypeRule::kRealKept},
    {"asin", Function::kAsin, 1, TypeRule::kRealKept},
    {"acos", Function::kAcos, 1, TypeRule::kRealKept},
    {"atan", Function::kAtan, 1, TypeRule::kRealKept},
    {"sinh", Function::kSinh, 1, TypeRule::kRealKept},
    {"cosh", Function::kCosh, 1, TypeRule::kRealKept},
    {"tanh", Function::kTanh, 1, TypeRule::kRealKept},
    {"asinh", Function::kAsinh, 1, TypeRule::kRealKept},
    {"acosh", Function::kAcosh, 1, TypeRule::kRealKept},
    {"atanh", Function::kAtanh, 1, TypeRule::kRealKept},
};

}  // namespace

const FunctionInfo& find_function(std::string_view name) {
  std::string names;
  for (const FunctionInfo& info : kFunctions) {
    if (info.name == name) return info;
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  }
  fail(ErrorKind::kValue, "[arithmetic] function: expected one of {}; got \"{}\"", names, name);
}

}  // namespace headrace
