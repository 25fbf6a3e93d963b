// Entropy-coded bytes without their stuffing.
#include "codecs/jpeg/unstuff.h"

#include <cstring>

namespace headrace::jpeg {

void unstuff(Bytes scan, bool restarts, Unstuffed& out) {
  // The C library's search and copy are vectorised; a byte in 256 stops them.
  if (out.bytes.size() < scan.size() + kReaderSlack) out.bytes.resize(scan.size() + scan.size() / 4 + kReaderSlack);
  out.segment_ends.clear();
  uint8_t* to = out.bytes.data();
  const uint8_t* from = scan.data();
  const uint8_t* const end = from + scan.size();
  uint8_t expected = 0xd0;  // RST0
  while (from < end) {
    const auto* mark = static_cast<const uint8_t*>(std::memchr(from, 0xff, static_cast<size_t>(end - from)));
    const size_t run = static_cast<size_t>((mark ? mark : end) - from);
    std::memcpy(to, from, run);
    to += run;
    if (!mark || mark + 1 == end) break;
    from = mark + 2;
    if (mark[1] == 0) {
      *to++ = 0xff;
    } else if (restarts && mark[1] == expected) {
      out.segment_ends.push_back(static_cast<size_t>(to - out.bytes.data()));
      expected = static_cast<uint8_t>(0xd0 | ((expected + 1) & 7));
    } else {
      break;
    }
  }
  out.segment_ends.push_back(static_cast<size_t>(to - out.bytes.data()));
  std::memset(to, 0, kReaderSlack);
}

}  // namespace headrace::jpeg
