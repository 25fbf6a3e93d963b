// Argument values: the constants that a node carries, and the types that a schema gives them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/dtype.h"

namespace headrace {

enum class ArgType {
  kBool,
  kInt,
  kFloat,
  kString,
  kDType,
  kImageType,
  kInterpType,
  kLayout,
  kBoolList,
  kIntList,
  kFloatList,
  kStringList,
  kDTypeList,
  kLayoutList,
};

constexpr bool is_list(ArgType type) { return type >= ArgType::kBoolList; }

// The numbers are those of DALI's DALIImageType and DALIInterpType.
enum class ImageType { kRGB = 0, kBGR = 1, kGray = 2, kYCbCr = 3, kAny = 4 };
enum class InterpType { kNearest = 0, kLinear = 1, kCubic = 2, kLanczos3 = 3, kTriangular = 4, kGaussian = 5 };

// Enumerations and dtypes are held as their numbers, layouts as their letters. monostate: no value.
using ArgValue = std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<bool>,
                              std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;
using ArgMap = std::map<std::string, ArgValue, std::less<>>;

// "a float list", for messages.
std::string_view arg_type_name(ArgType type);

// Converts a value to the alternative that `type` is stored as: integers to floats, a single value to a list of one.
// Anything else is a kType error; `what` names operator and argument. A float for an integer is truncated, as Python's
// int() does.
ArgValue convert_arg(const ArgValue& value, ArgType type, std::string_view what);

// A literal as Python would print it: `[1.0, 2.0]`, `"CHW"`, `None`.
std::string to_string(const ArgValue& value);

}  // namespace headrace
