// Reversing pixels with SIMD, for kernels that are compiled once per target (Highway's foreach_target).
#if defined(HEADRACE_REVERSE_PIXELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_REVERSE_PIXELS_INL_H
#undef HEADRACE_REVERSE_PIXELS_INL_H
#else
#define HEADRACE_REVERSE_PIXELS_INL_H
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using ByteTag = hn::CappedTag<uint8_t, 16>;
using ByteVec = hn::Vec<ByteTag>;
constexpr ByteTag kBytes;

// Indices that turn a vector of bytes around.
HWY_INLINE ByteVec reversed_bytes() {
  const ByteVec last = hn::Set(kBytes, static_cast<uint8_t>(hn::Lanes(kBytes) - 1));
  return hn::Sub(last, hn::Iota(kBytes, 0));
}

// Pixels of three bytes in reverse order; `in` is the row's last pixel.
HWY_INLINE void reverse_pixels3(const uint8_t* in, uint8_t* out, int64_t pixels) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(kBytes));
  const ByteVec turn = reversed_bytes();
  int64_t i = 0;
  for (; i + lanes <= pixels; i += lanes) {
    ByteVec a, b, c;
    hn::LoadInterleaved3(kBytes, in - 3 * (i + lanes - 1), a, b, c);
    hn::StoreInterleaved3(hn::TableLookupBytes(a, turn), hn::TableLookupBytes(b, turn), hn::TableLookupBytes(c, turn),
                          kBytes, out + 3 * i);
  }
  for (; i < pixels; ++i) {
    for (int64_t c = 0; c < 3; ++c) out[3 * i + c] = in[-3 * i + c];
  }
}

// Bytes in reverse order; `in` is the last one.
HWY_INLINE void reverse_bytes(const uint8_t* in, uint8_t* out, int64_t n) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(kBytes));
  const ByteVec turn = reversed_bytes();
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::TableLookupBytes(hn::LoadU(kBytes, in - i - lanes + 1), turn), kBytes, out + i);
  }
  for (; i < n; ++i) out[i] = in[-i];
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#endif
