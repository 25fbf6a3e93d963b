// Argument values: conversion to the schema's type, and printing.
#include "graph/arg_value.h"

#include <fmt/format.h>

#include <cmath>

namespace headrace {
namespace {

constexpr std::string_view kTypeNames[] = {"a bool",
                                           "an integer",
                                           "a float",
                                           "a string",
                                           "a DALIDataType",
                                           "an image type",
                                           "an interpolation",
                                           "a layout",
                                           "a list of bools",
                                           "a list of integers",
                                           "a list of floats",
                                           "a list of strings",
                                           "a list of DALIDataTypes",
                                           "a list of layouts"};

[[noreturn]] void mismatch(const ArgValue& value, ArgType type, std::string_view what) {
  fail(ErrorKind::kType, "{}: expected {}, got {}", what, arg_type_name(type), to_string(value));
}

int64_t to_int(const ArgValue& value, ArgType type, std::string_view what) {
  if (const auto* v = std::get_if<int64_t>(&value)) return *v;
  if (const auto* v = std::get_if<bool>(&value)) return *v;
  if (const auto* v = std::get_if<double>(&value)) {
    check_value(std::isfinite(*v) && std::abs(*v) < 9.2e18, "{}: {} is no integer", what, *v);
    return static_cast<int64_t>(*v);
  }
  mismatch(value, type, what);
}

double to_float(const ArgValue& value, ArgType type, std::string_view what) {
  if (const auto* v = std::get_if<double>(&value)) return *v;
  if (const auto* v = std::get_if<int64_t>(&value)) return static_cast<double>(*v);
  if (const auto* v = std::get_if<bool>(&value)) return *v;
  mismatch(value, type, what);
}

bool to_bool(const ArgValue& value, ArgType type, std::string_view what) {
  if (const auto* v = std::get_if<bool>(&value)) return *v;
  return to_float(value, type, what) != 0;
}

std::string to_text(const ArgValue& value, ArgType type, std::string_view what) {
  if (const auto* v = std::get_if<std::string>(&value)) return *v;
  mismatch(value, type, what);
}

// A list of T from any list or a single value, each element converted by `one`.
template <typename T, typename Convert>
ArgValue to_list(const ArgValue& value, ArgType type, std::string_view what, Convert one) {
  return std::visit(
      [&](const auto& v) -> ArgValue {
        using Value = std::decay_t<decltype(v)>;
        std::vector<T> list;
        if constexpr (std::is_same_v<Value, std::vector<bool>>) {
          for (bool element : v) list.push_back(one(ArgValue(element), type, what));
        } else if constexpr (requires { typename Value::allocator_type; } && !std::is_same_v<Value, std::string>) {
          for (const auto& element : v) list.push_back(one(ArgValue(element), type, what));
        } else {
          list.push_back(one(value, type, what));
        }
        return list;
      },
      value);
}

struct Printer {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(bool v) const { return v ? "True" : "False"; }
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return fmt::format("{}", v); }
  std::string operator()(const std::string& v) const { return '"' + v + '"'; }
  template <typename T> std::string operator()(const std::vector<T>& list) const {
    std::string text = "[";
    for (size_t i = 0; i < list.size(); ++i) text += (i ? ", " : "") + (*this)(static_cast<T>(list[i]));
    return text + "]";
  }
};

}  // namespace

std::string_view arg_type_name(ArgType type) { return kTypeNames[static_cast<int>(type)]; }

ArgValue convert_arg(const ArgValue& value, ArgType type, std::string_view what) {
  if (std::holds_alternative<std::monostate>(value)) return value;
  switch (type) {
    case ArgType::kBool: return to_bool(value, type, what);
    case ArgType::kInt:
    case ArgType::kDType:
    case ArgType::kImageType:
    case ArgType::kInterpType: return to_int(value, type, what);
    case ArgType::kFloat: return to_float(value, type, what);
    case ArgType::kString:
    case ArgType::kLayout: return to_text(value, type, what);
    case ArgType::kBoolList: return to_list<bool>(value, type, what, to_bool);
    case ArgType::kIntList:
    case ArgType::kDTypeList: return to_list<int64_t>(value, type, what, to_int);
    case ArgType::kFloatList: return to_list<double>(value, type, what, to_float);
    case ArgType::kStringList:
    case ArgType::kLayoutList: return to_list<std::string>(value, type, what, to_text);
  }
  mismatch(value, type, what);
}

std::string to_string(const ArgValue& value) { return std::visit(Printer(), value); }

}  // namespace headrace
