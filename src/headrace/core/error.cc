// Errors: formatting, out of line so that callers stay small; and what others throw.
#include "core/error.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <typeinfo>

namespace headrace {
namespace {

// As it is written in the source: "my::Failure".
std::string type_of_exception() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (!type) return "an unknown type";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(type->name(), nullptr, nullptr, &status),
                                                         &std::free);
  return name ? name.get() : type->name();
}

}  // namespace

void throw_error(ErrorKind kind, fmt::string_view format, fmt::format_args args) {
  throw Error(kind, fmt::vformat(format, args));
}

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::kMemory, "the system has no memory left");
  } catch (const std::exception& error) {
    return Error(ErrorKind::kRuntime, error.what());
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return Error(ErrorKind::kRuntime, "an exception of type " + type_of_exception() + " was thrown");
  }
}

}  // namespace headrace
