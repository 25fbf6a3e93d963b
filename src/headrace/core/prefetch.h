// Prefetching: memory that is about to be read on its way to the second-level cache, so that nobody waits for it.
#pragma once

#include <algorithm>
#include <cstddef>

namespace headrace {

// Asks for the first bytes at `data`, as many lines as the hardware takes at once; from there on it sees the stream.
inline void prefetch_bytes(const void* data, size_t bytes) {
  constexpr size_t kLine = 64, kMost = 16 * kLine;
  const char* first = static_cast<const char*>(data);
  for (size_t at = 0; at < std::min(bytes, kMost); at += kLine) __builtin_prefetch(first + at, 0, 2);
  __asm__ volatile("");  // else GCC takes a function that only prefetches for one without effect, and drops its calls
}

}  // namespace headrace
