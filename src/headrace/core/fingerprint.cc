// Fingerprint: NH over blocks, then a polynomial. See Note [fingerprints].
#include "core/fingerprint.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

namespace headrace {
namespace {

using Wide = unsigned __int128;

constexpr size_t kBlockWords = 128;
constexpr size_t kBlockBytes = kBlockWords * sizeof(uint64_t);
constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
constexpr int kHashes = 2;

struct Keys {
  std::array<std::array<uint64_t, kBlockWords>, kHashes> block;
  std::array<uint64_t, kHashes> point;  // where the polynomial is evaluated: below kPrime
};

Keys draw_keys() {
  std::random_device device;
  const auto word = [&] { return uint64_t{device()} << 32 | device(); };
  Keys keys;
  for (auto& block : keys.block) std::generate(block.begin(), block.end(), word);
  for (uint64_t& point : keys.point) {
    do point = word() >> 3;
    while (point >= kPrime);
  }
  return keys;
}

uint64_t load_word(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

using BlockSums = std::array<Wide, kHashes>;

// NH of the two words at `bytes`, which are words i and i + 1 of their block.
void add_words(const Keys& keys, size_t i, const uint8_t* bytes, BlockSums& sums) {
  const uint64_t first = load_word(bytes), second = load_word(bytes + sizeof(uint64_t));
  for (int h = 0; h < kHashes; ++h) {
    sums[h] += Wide{first + keys.block[h][i]} * (second + keys.block[h][i + 1]);
  }
}

// NH of a block, the last words filled up with zeros: the polynomial tells the length.
BlockSums hash_block(const Keys& keys, std::span<const uint8_t> block) {
  constexpr size_t kStep = 2 * sizeof(uint64_t);
  BlockSums sums{};
  const size_t whole = block.size() / kStep * kStep;
  for (size_t at = 0; at < whole; at += kStep) add_words(keys, at / sizeof(uint64_t), block.data() + at, sums);
  if (whole < block.size()) {
    std::array<uint8_t, kStep> tail{};
    std::memcpy(tail.data(), block.data() + whole, block.size() - whole);
    add_words(keys, whole / sizeof(uint64_t), tail.data(), sums);
  }
  return sums;
}

// A number below 2^62 that equals value * point + term modulo kPrime; value < 2^62, term < 2^60.
uint64_t next_term(uint64_t value, uint64_t point, uint64_t term) {
  const Wide product = Wide{value} * point + term;
  const uint64_t sum = (static_cast<uint64_t>(product) & kPrime) + static_cast<uint64_t>(product >> 61);
  return (sum & kPrime) + (sum >> 61);
}

}  // namespace

Fingerprint fingerprint_of(std::span<const uint8_t> bytes) {
  static const Keys keys = draw_keys();
  std::array<uint64_t, kHashes> values{1, 1};
  for (size_t at = 0; at < bytes.size(); at += kBlockBytes) {
    const BlockSums sums = hash_block(keys, bytes.subspan(at, std::min(kBlockBytes, bytes.size() - at)));
    constexpr int kTermBits = 43;  // 128 bits are three terms
    constexpr uint64_t kTerm = (uint64_t{1} << kTermBits) - 1;
    for (int h = 0; h < kHashes; ++h) {
      for (int shift = 0; shift < 128; shift += kTermBits) {
        values[h] = next_term(values[h], keys.point[h], static_cast<uint64_t>(sums[h] >> shift) & kTerm);
      }
    }
  }
  for (int h = 0; h < kHashes; ++h) values[h] = next_term(values[h], keys.point[h], bytes.size()) % kPrime;
  return {values[0], values[1]};
}

}  // namespace headrace
