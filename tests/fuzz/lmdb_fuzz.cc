// Fuzz target: the LMDB walk over any bytes ends with an error or with records inside the bytes.
#include <cstddef>
#include <cstdint>

#include "core/error.h"
#include "io/lmdb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const headrace::LmdbTable table({data, size}, "fuzz");
    volatile uint8_t sink = 0;
    for (size_t i = 0; i < table.size(); ++i) {
      for (const char byte : table.key(i)) sink = static_cast<uint8_t>(byte);
      for (const uint8_t byte : table.value(i)) sink = byte;
    }
    (void)sink;
  } catch (const headrace::Error&) {
  }
  return 0;
}
