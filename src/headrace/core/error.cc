// Errors: formatting, out of line so that callers stay small.
#include "core/error.h"

namespace headrace {

void throw_error(ErrorKind kind, fmt::string_view format, fmt::format_args args) {
  throw Error(kind, fmt::vformat(format, args));
}

}  // namespace headrace
