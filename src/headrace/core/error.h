// Errors: one exception type, a closed set of kinds, and check functions that format their message.
//
// Every message names the operator or function, the argument, what was expected and what came, and what to do:
//   check(n > 0, "[one_hot] num_classes: expected a positive number, got {}", n);
#pragma once

#include <fmt/core.h>

#include <exception>
#include <string>
#include <utility>

namespace headrace {

// What went wrong, by who has to act. The Python layer maps each kind to one exception class (bindings/errors.cc).
enum class ErrorKind {
  kRuntime,      // data or state that cannot be processed             -> RuntimeError
  kValue,        // an argument's value is not allowed                 -> ValueError
  kType,         // an argument's type is not allowed                  -> TypeError
  kIndex,        // an axis or index out of range                      -> IndexError
  kKey,          // an unknown name                                    -> KeyError
  kOverflow,     // a number that its type cannot hold                 -> OverflowError
  kMemory,       // memory_limit or the system's memory is used up    -> MemoryError
  kUnsupported,  // valid, but headrace cannot do it                   -> NotImplementedError
  kInternal,     // a broken invariant: a bug of headrace              -> RuntimeError, "internal error"
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  ErrorKind kind() const noexcept { return kind_; }
  const std::string& message() const noexcept { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorKind kind_;
  std::string message_;
};

// What another sample would meet as well.
constexpr bool is_fatal(ErrorKind kind) { return kind == ErrorKind::kMemory || kind == ErrorKind::kInternal; }

[[noreturn]] void throw_error(ErrorKind kind, fmt::string_view format, fmt::format_args args);

// The exception that is being handled, whatever its type: for `catch (...)` around code of operators, which may be
// built outside of headrace. An unwinding of the thread is not an error and goes on.
Error current_error();

// Throws an Error of the given kind with a formatted message.
template <typename... Args> [[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw_error(kind, format, fmt::make_format_args(args...));
}

// Throws a kRuntime error unless `condition` holds.
template <typename... Args> void check(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]]
    throw_error(ErrorKind::kRuntime, format, fmt::make_format_args(args...));
}

// Throws a kValue error unless `condition` holds.
template <typename... Args> void check_value(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]]
    throw_error(ErrorKind::kValue, format, fmt::make_format_args(args...));
}

// Throws a kInternal error unless `condition`, an invariant of headrace itself, holds.
template <typename... Args> void check_internal(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]]
    throw_error(ErrorKind::kInternal, format, fmt::make_format_args(args...));
}

}  // namespace headrace
