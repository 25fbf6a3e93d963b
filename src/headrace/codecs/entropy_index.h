// EntropyIndex: where decoding may begin in the middle of a JPEG file.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

// MCUs from one point to the next: 8 take 1.4 % of the size of a photo, and of a region's columns few more are decoded.
inline constexpr int kMcusPerPoint = 8;

// The state of the entropy decoder before an MCU.
struct EntropyPoint {
  uint32_t byte = 0;  // of the scan, without the stuffing
  uint32_t bit = 0;   // 0..7: bits of that byte that are behind
  std::array<int16_t, 4> dc{};
};

// Point i is before MCU i * kMcusPerPoint. All before the last point has been decoded and is sound, so that decoding
// from a point gives what decoding from the beginning gives, errors included.
struct EntropyIndex {
  std::span<const EntropyPoint> known;
  std::vector<EntropyPoint> found;  // those behind `known` that decoding came by
  int size = 0;                     // points of the whole image; 0: too small an image to have any
};

}  // namespace headrace
