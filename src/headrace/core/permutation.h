// Permutation: a shuffle of 0 .. size-1 without a table: any element in constant time, no memory, no start-up.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "core/philox.h"

namespace headrace {

// A Feistel network over a grid of 2^k columns and just enough rows, with cycle walking over the cells that lie beyond
// `size`. One object may be used by many threads.
//
// Source of the construction: J. Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002,
// https://doi.org/10.1007/3-540-45760-7_9. The rounds are not cryptographic. A round of a small size can do little, so
// there are more of them: enough that all orders are equally frequent (permutation_test.cc).
class Permutation {
 public:
  // The permutation of 0 .. size-1 that `stream` names. 0 < size <= 2^52.
  Permutation(int64_t size, RandomStream stream) : size_(static_cast<uint64_t>(size)) {
    shift_ = (std::bit_width(size_ - 1) + 1) / 2;
    rows_ = (size_ + (uint64_t{1} << shift_) - 1) >> shift_;
    rounds_ = size < 1024 ? kMaxRounds : 8;
    for (int i = 0; i < rounds_; ++i) keys_[i] = stream.next_u64();
  }

  int64_t size() const { return static_cast<int64_t>(size_); }

  // The element at place `i`, 0 <= i < size().
  int64_t operator()(int64_t i) const {
    uint64_t at = static_cast<uint64_t>(i);
    do {
      at = round_trip(at);
    } while (at >= size_);
    return static_cast<int64_t>(at);
  }

 private:
  static constexpr int kMaxRounds = 32;

  // The upper 32 bits of the result are well mixed (multiply, fold, multiply).
  static uint64_t mix(uint64_t value, uint64_t key) {
    uint64_t h = (value + key) * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
    return h * 0xD6E8FEB86659FD93u;
  }

  uint64_t round_trip(uint64_t cell) const {
    const uint64_t mask = (uint64_t{1} << shift_) - 1;
    uint64_t column = cell & mask;
    uint64_t row = cell >> shift_;
    for (int i = 0; i < rounds_; i += 2) {
      column = (column + (mix(row, keys_[i]) >> 32)) & mask;
      row += ((mix(column, keys_[i + 1]) >> 32) * rows_) >> 32;
      row = row >= rows_ ? row - rows_ : row;
    }
    return (row << shift_) | column;
  }

  uint64_t size_;
  int shift_;
  uint64_t rows_;
  int rounds_;
  std::array<uint64_t, kMaxRounds> keys_;
};

}  // namespace headrace
