// The row filters and sample packings of PNG.
#include "codecs/png_filter.h"

#include <cstdlib>
#include <cstring>

#include "codecs/byte_reader.h"
#include "core/error.h"

namespace headrace::png {
namespace {

// Which of left, above and upper left is nearest to left + above - upper left (section 9.4).
inline int paeth(int a, int b, int c) {
  const int pa = std::abs(b - c);
  const int pb = std::abs(a - c);
  const int pc = std::abs(a + b - 2 * c);
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

// The filters that look to the left, with a compile-time distance: the last pixel then stays in registers.
template <int distance> void unfilter_sub(uint8_t* row, size_t bytes) {
  for (size_t i = distance; i < bytes; ++i) row[i] = static_cast<uint8_t>(row[i] + row[i - distance]);
}

template <int distance> void unfilter_average(uint8_t* row, const uint8_t* above, size_t bytes) {
  for (size_t i = 0; i < distance && i < bytes; ++i) row[i] = static_cast<uint8_t>(row[i] + above[i] / 2);
  for (size_t i = distance; i < bytes; ++i) {
    row[i] = static_cast<uint8_t>(row[i] + (row[i - distance] + above[i]) / 2);
  }
}

template <int distance> void unfilter_paeth(uint8_t* row, const uint8_t* above, size_t bytes) {
  int left[distance] = {};
  int upper_left[distance] = {};
  for (size_t i = 0; i + distance <= bytes; i += distance) {
    for (int c = 0; c < distance; ++c) {
      const int up = above[i + c];
      left[c] = static_cast<uint8_t>(row[i + c] + paeth(left[c], up, upper_left[c]));
      upper_left[c] = up;
      row[i + c] = static_cast<uint8_t>(left[c]);
    }
  }
}

void unfilter_up(uint8_t* row, const uint8_t* above, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) row[i] = static_cast<uint8_t>(row[i] + above[i]);
}

template <int distance> void unfilter(uint8_t filter, uint8_t* row, const uint8_t* above, size_t bytes) {
  switch (filter) {
    case 1: return unfilter_sub<distance>(row, bytes);
    case 2: return unfilter_up(row, above, bytes);
    case 3: return unfilter_average<distance>(row, above, bytes);
    case 4: return unfilter_paeth<distance>(row, above, bytes);
  }
}

// The row above the first one counts as zeros: up changes nothing then, paeth is sub.
template <int distance> void unfilter_first(uint8_t filter, uint8_t* row, size_t bytes) {
  if (filter == 1 || filter == 4) unfilter_sub<distance>(row, bytes);
  if (filter != 3) return;
  for (size_t i = distance; i < bytes; ++i) row[i] = static_cast<uint8_t>(row[i] + row[i - distance] / 2);
}

template <int distance> void unfilter_any(uint8_t filter, uint8_t* row, const uint8_t* above, size_t bytes) {
  if (above) {
    unfilter<distance>(filter, row, above, bytes);
  } else {
    unfilter_first<distance>(filter, row, bytes);
  }
}

}  // namespace

void unfilter_row(uint8_t filter, uint8_t* row, const uint8_t* above, size_t bytes, int distance) {
  if (filter == 0) return;
  check(filter <= 4, "PNG: unknown row filter {}", filter);
  switch (distance) {
    case 1: return unfilter_any<1>(filter, row, above, bytes);
    case 2: return unfilter_any<2>(filter, row, above, bytes);
    case 3: return unfilter_any<3>(filter, row, above, bytes);
    case 4: return unfilter_any<4>(filter, row, above, bytes);
    case 6: return unfilter_any<6>(filter, row, above, bytes);
    case 8: return unfilter_any<8>(filter, row, above, bytes);
    default: fail(ErrorKind::kInternal, "PNG: {} bytes per pixel", distance);
  }
}

void swap_to_native(const uint8_t* row, int samples, uint8_t* out) {
  for (int i = 0; i < samples; ++i, row += 2, out += 2) {
    const uint16_t value = load_be16(row);
    std::memcpy(out, &value, 2);
  }
}

void expand_gray(const uint8_t* row, int width, int bit_depth, uint8_t* out) {
  const int mask = (1 << bit_depth) - 1;
  const int scale = 255 / mask;
  for (int x = 0; x < width; ++x) {
    const int64_t bit = int64_t{x} * bit_depth;
    out[x] = static_cast<uint8_t>((row[bit >> 3] >> (8 - bit_depth - (bit & 7)) & mask) * scale);
  }
}

bool expand_palette(const uint8_t* row, int width, int bit_depth, const uint8_t* palette, size_t entries,
                    uint8_t* out) {
  const int mask = (1 << bit_depth) - 1;
  size_t largest = 0;
  for (int x = 0; x < width; ++x, out += 3) {
    const int64_t bit = int64_t{x} * bit_depth;
    const size_t index = static_cast<size_t>(row[bit >> 3] >> (8 - bit_depth - (bit & 7)) & mask);
    largest = index > largest ? index : largest;
    std::memcpy(out, palette + index * 3, 3);
  }
  return largest < entries;
}

}  // namespace headrace::png
