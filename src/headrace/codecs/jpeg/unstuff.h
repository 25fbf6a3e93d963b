// Entropy-coded bytes without their stuffing, in memory that a bit reader may overrun.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codecs/byte_reader.h"

namespace headrace::jpeg {

// How far past the end of its data a reader may get before it looks: the largest MCU (10 blocks of 64 symbols with
// 31 bits) and one load.
inline constexpr size_t kReaderSlack = 2560;

struct Unstuffed {
  std::vector<uint8_t> bytes;        // the data, then kReaderSlack bytes of anything; never shrinks
  std::vector<size_t> segment_ends;  // end in `bytes` of each piece between restart markers; one piece without them
};

// Copies the entropy-coded data that begins `scan` without the zero behind each 0xff byte (ITU-T T.81, B.1.1.5), up to
// the first marker. With `restarts` the markers RST0, RST1, ... in their order are left out and cut the data into
// pieces; one out of order ends it.
void unstuff(Bytes scan, bool restarts, Unstuffed& out);

}  // namespace headrace::jpeg
