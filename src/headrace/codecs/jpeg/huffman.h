// Look-up tables that decode Huffman codes together with the values behind them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "codecs/jpeg/layout.h"

namespace headrace::jpeg {

inline constexpr int kDcBits = 10;
inline constexpr int kAcBits = 11;
inline constexpr int kSkipBits = 12;

// By how much the end of a block advances the coefficient's number: more than two runs can, so that a block that ends
// right (number 64, or above kEndAdvance) is told from one that overruns.
inline constexpr unsigned kEndAdvance = 96;

// The same for sums of the up to 12 symbols that lie in kSkipBits.
inline constexpr unsigned kSkipEndAdvance = 256;

// A code's symbol and length; length 0: the bits begin no code.
struct Symbol {
  uint8_t value = 0;
  uint8_t length = 0;
};

// Canonical codes of 1 to 16 bits.
class CanonicalCodes {
 public:
  // False if the counts are of no prefix code.
  bool build(const HuffmanSpec& spec);

  // The symbol that the most significant of 16 bits begin with.
  Symbol find(uint32_t bits16) const {
    for (size_t length = 1; length <= 16; ++length) {
      if (bits16 < limit_[length]) {
        return {values_[(bits16 >> (16 - length)) + offset_[length]], static_cast<uint8_t>(length)};
      }
    }
    return {};
  }

 private:
  std::array<uint32_t, 17> limit_{};   // first 16-bit pattern behind the codes of a length
  std::array<uint32_t, 17> offset_{};  // index of a code's value, less the code (modulo 2^32)
  std::array<uint8_t, 256> values_{};
};

// Differences of DC coefficients. An entry of `fast` has the bits of code and value (0: see `codes`) and, in its upper
// half, the value.
struct DcTable {
  HuffmanSpec spec;
  CanonicalCodes codes;
  std::array<uint32_t, 1 << kDcBits> fast;
};

// AC coefficients. An entry of `fast` holds one or two whole symbols in 32 bits, for the tables of two components to
// fit the first-level cache beside all else:
//   bits 0-5    bits of all symbols
//        6-10   advance of the first symbol; 1 for the end of a block
//        11-17  advance of all symbols
//        18-24  value of the first symbol
//        25-31  value of the last symbol
// A symbol advances the coefficient's number by its run + 1 and its value belongs to the coefficient just before. If
// the bits hold no whole symbol, or its value needs more than seven bits, bits 11-17 are 0, and 6-10 and 18-25 are the
// length and value of the Symbol if it is known.
struct AcTable {
  HuffmanSpec spec;
  CanonicalCodes codes;
  std::array<uint32_t, 1 << kAcBits> fast;

  // Sums over the symbols whose codes lie in 12 bits, for blocks that are passed over: bits in 0-7, advance above; 0 if
  // the code is longer. Made when first needed.
  const std::array<uint32_t, 1 << kSkipBits>& skip();
  bool has_skip() const { return skip_ != nullptr; }

 private:
  std::unique_ptr<std::array<uint32_t, 1 << kSkipBits>> skip_;
};

// Tables by their DHT bytes: cameras and encoders use the same few, building one costs as much as decoding a tiny
// image.
class TableCache {
 public:
  // Null if the specification is no valid table. A table stays valid until kKept others were asked for.
  DcTable* dc(const HuffmanSpec& spec);
  AcTable* ac(const HuffmanSpec& spec);

 private:
  static constexpr size_t kKept = 12;

  std::vector<std::unique_ptr<DcTable>> dc_;  // the latest first
  std::vector<std::unique_ptr<AcTable>> ac_;
};

}  // namespace headrace::jpeg
