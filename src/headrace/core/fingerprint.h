// Fingerprint: 128 bits that stand for a string of bytes, so that equal contents are found again without keeping them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace {

struct Fingerprint {
  uint64_t high = 0;
  uint64_t low = 0;

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

// For unordered containers: the bits are evenly spread already.
struct FingerprintHash {
  size_t operator()(const Fingerprint& print) const { return print.low; }
};

// The fingerprint under keys that this process drew when it first needed them; it means nothing elsewhere.
//
// Note [fingerprints]: two hashes, independent of each other, of the same build: the strings are cut into blocks of
// 1 KB, NH (Black et al., UMAC, 1999) makes 128 bits of each block, and a polynomial over those and the length, modulo
// the prime 2^61 - 1 (Carter and Wegman, 1979), makes 61 bits of all. Two different strings of up to n KB, whoever
// chose them without knowing the keys, have the same fingerprint with a probability below ((3 n + 10) / 2^61)^2: for
// files of 1 MB that is 2^-98.
Fingerprint fingerprint_of(std::span<const uint8_t> bytes);

}  // namespace headrace
