// Reversing a row of pixels: what mirroring an image is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace {

// Copies `pixels` pixels of `pixel_bytes` bytes each from `in` to `out` in reverse order; the bytes of a pixel stay in
// order. The rows don't overlap.
void reverse_pixels(const void* in, void* out, int64_t pixels, size_t pixel_bytes);

}  // namespace headrace
