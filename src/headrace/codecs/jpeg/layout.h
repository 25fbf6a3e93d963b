// Headers of the JPEG files that headrace decodes itself: frame, scan, tables and where the entropy-coded bytes begin.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "codecs/byte_reader.h"

namespace headrace::jpeg {

// A Huffman table as a DHT segment states it (ITU-T T.81, B.2.4.2).
struct HuffmanSpec {
  std::array<uint8_t, 16> counts{};   // codes of length 1..16
  std::array<uint8_t, 256> values{};  // in the order of the codes, the rest zero
  bool defined = false;

  bool operator==(const HuffmanSpec&) const = default;
};

inline constexpr int kMaxComponents = 4;

using QuantTable = std::array<uint16_t, 64>;  // row by row

struct Component {
  uint8_t id = 0;
  int h = 1;  // sampling factors
  int v = 1;
  int quant = 0;  // numbers of its tables
  int dc = 0;
  int ac = 0;
};

enum class ColorCoding : uint8_t { kGray, kYcc, kRgb, kCmyk, kYcck };

// All that a decoder needs besides the entropy-coded bytes.
struct FileLayout {
  int width = 0;
  int height = 0;
  int components = 0;
  std::array<Component, kMaxComponents> component{};
  ColorCoding coding = ColorCoding::kGray;
  int restart_interval = 0;  // MCUs between restart markers; 0: none
  std::array<QuantTable, 4> quant{};
  std::array<bool, 4> quant_defined{};
  std::array<HuffmanSpec, 4> dc{};
  std::array<HuffmanSpec, 4> ac{};
  size_t scan_at = 0;  // offset of the entropy-coded bytes
};

// Reads the segments up to the first scan. False unless the file is one that this decoder takes: Huffman-coded baseline
// or extended sequential, 8 bit, gray, or three or four components of which the second and third are sampled 1 x 1 and
// the others alike, 1 x 1, 2 x 1, 2 x 2, 1 x 2 or 4 x 1, all in one scan, and with headers of the plainest form. What
// libjpeg-turbo warns of or refuses is left to it by false.
bool read_layout(Bytes bytes, FileLayout& layout);

// Row by row position (8 * row + column) of the k-th coefficient of a block (T.81, figure A.6).
inline constexpr std::array<uint8_t, 64> kZigzag = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                                    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                                    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                                    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

}  // namespace headrace::jpeg
