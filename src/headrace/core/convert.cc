// Conversion of arrays: one loop for each pair of element types.
#include "core/convert.h"

#include <cstring>

namespace headrace {
namespace {

template <typename To, typename From> void convert_loop(const From* __restrict from, To* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i]);
}

}  // namespace

void convert_array(const void* from, DType from_type, void* to, DType to_type, int64_t count) {
  if (count == 0) return;
  if (from_type == to_type) {
    std::memcpy(to, from, static_cast<size_t>(count) * dtype_size(to_type));
    return;
  }
  visit_dtype(from_type, AllTypes(), "conversion from", [&]<typename From>() {
    visit_dtype(to_type, AllTypes(), "conversion to",
                [&]<typename To>() { convert_loop(static_cast<const From*>(from), static_cast<To*>(to), count); });
  });
}

}  // namespace headrace
