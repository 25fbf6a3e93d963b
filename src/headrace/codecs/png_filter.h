// The row filters and sample packings of PNG. Internal to codecs/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace::png {

// Undoes a filter of section 9 of the PNG specification in place. `above` is the unfiltered row above, null for the
// first one; `distance` the bytes of a pixel, at least 1. Throws on an unknown filter type.
void unfilter_row(uint8_t filter, uint8_t* row, const uint8_t* above, size_t bytes, int distance);

// Big-endian 16-bit samples to native ones.
void swap_to_native(const uint8_t* row, int samples, uint8_t* out);

// 1, 2 or 4 bit gray to the full range of u8.
void expand_gray(const uint8_t* row, int width, int bit_depth, uint8_t* out);

// Palette indices of 1..8 bits to RGB; false if an index lies beyond `entries`.
bool expand_palette(const uint8_t* row, int width, int bit_depth, const uint8_t* palette, size_t entries, uint8_t* out);

}  // namespace headrace::png
