// Decoding the Huffman-coded blocks of a scan, or passing over them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "codecs/jpeg/huffman.h"
#include "codecs/jpeg/layout.h"

namespace headrace::jpeg {

// Coefficients lie four blocks side by side, row by row, so that the inverse transform loads whole vectors: coefficient
// (row, column) of block b of a group is at 32 * row + 8 * b + column. Behind them is room that symbols past the end of
// a block are written to.
inline constexpr int kGroupBlocks = 4;
inline constexpr int kGroupRow = 8 * kGroupBlocks;
inline constexpr int kGroupSize = 9 * kGroupRow;

// Which coefficients of a group may be other than zero; the union of two is their bitwise or.
enum Busy : uint8_t {
  kOnlyDc = 0,
  kLowFrequencies = 1,  // rows and columns 0 to 3
  kAllFrequencies = 3,
};

// Coefficients of one component in a run of MCUs.
struct CoefficientRun {
  int16_t* groups = nullptr;  // null: the component isn't wanted
  uint8_t* busy = nullptr;    // by group
  int groups_per_row = 0;     // groups in one row of blocks
};

struct BlockPlan {
  DcTable* dc = nullptr;
  AcTable* ac = nullptr;
  int component = 0;
  int x = 0;  // place in the MCU, in blocks
  int y = 0;
  int blocks_across = 1;  // of its component in an MCU
};

inline constexpr int kMaxMcuBlocks = 10;  // libjpeg's; T.81, B.2.3 has the same

struct McuPlan {
  std::array<BlockPlan, kMaxMcuBlocks> block;
  int blocks = 0;
};

// A bit reader and the predictors of the DC coefficients.
struct EntropyState {
  const uint8_t* next = nullptr;  // the first byte that isn't in `buffer`
  uint64_t buffer = 0;            // the next bits, most significant first
  int count = 0;                  // of them that `next` accounts for, at most 63
  std::array<int, kMaxComponents> dc{};

  void start(const uint8_t* at) { *this = {.next = at}; }
  // Behind the first bits, up to 7, of the byte.
  void start(const uint8_t* at, unsigned bits) {
    start(at);
    if (bits == 0) return;
    buffer = uint64_t{*at} << (56 + bits);
    count = static_cast<int>(8 - bits);
    next = at + 1;
  }

  // Whole bytes up to the one that the next bit lies in, or begins.
  const uint8_t* position() const { return next - count / 8; }
};

// Decodes MCUs `first` to `first + count` of a run: MCU i has its blocks at (i * blocks_across + x, y) of `runs`, whose
// coefficients must be zero before. False if the data is damaged or goes past `end`.
bool decode_mcus(EntropyState& state, const McuPlan& plan, const uint8_t* end, int first, int count,
                 const std::array<CoefficientRun, kMaxComponents>& runs);

// Passes over `count` MCUs, with the same checks.
bool skip_mcus(EntropyState& state, const McuPlan& plan, const uint8_t* end, int count);

}  // namespace headrace::jpeg
