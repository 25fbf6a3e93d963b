// Philox4x32-10: a counter-based random number generator. The same key and counter give the same numbers everywhere.
//
// Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011, https://doi.org/10.1145/2063384.2063405.
#pragma once

#include <array>
#include <cstdint>

namespace headrace {

// One block: four 32-bit words that depend on nothing but `counter` and `key`.
constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// A stream of random numbers for one purpose, named by (seed, epoch, position): equal names give equal streams,
// whatever the thread, batch size or order of calls.
class RandomStream {
 public:
  RandomStream(uint64_t seed, int64_t epoch, int64_t position)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32) ^ static_cast<uint32_t>(epoch)},
        counter_{0, static_cast<uint32_t>(epoch >> 32) & 0xffffu, static_cast<uint32_t>(position),
                 static_cast<uint32_t>(position >> 32)} {}

  uint32_t next_u32() {
    if (used_ == 4) {
      block_ = philox(counter_, key_);
      ++counter_[0];
      used_ = 0;
    }
    return block_[used_++];
  }
  uint64_t next_u64() {
    const uint64_t low = next_u32();
    return low | (uint64_t{next_u32()} << 32);
  }
  // Uniform in [0, 1), on the grid of 2^-24.
  float next_float() { return static_cast<float>(next_u32() >> 8) * 0x1p-24f; }
  // Uniform in [0, 1), on the grid of 2^-53.
  double next_double() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }
  // Uniform in 0 .. bound - 1, without modulo bias beyond 2^-64. bound > 0.
  uint64_t next_below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next_u64()) * bound) >> 64);
  }

  // Words 4 i .. 4 i + 3 of the stream, wherever it stands.
  std::array<uint32_t, 4> block(uint32_t i) const { return philox({i, counter_[1], counter_[2], counter_[3]}, key_); }
  // What names the stream; the first word of the counter is the number of the block.
  const std::array<uint32_t, 2>& key() const { return key_; }
  const std::array<uint32_t, 4>& counter() const { return counter_; }

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;
};

}  // namespace headrace
