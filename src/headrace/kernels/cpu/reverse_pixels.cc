// Reversing a row of pixels: SIMD for pixels of one and three bytes, moves of fixed size for other usual ones.
#include "kernels/cpu/reverse_pixels.h"

#include <cstring>

#include "core/simd_targets.h"

#define HWY_DISABLED_TARGETS HEADRACE_SKIPPED_TARGETS
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reverse_pixels.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/reverse_pixels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {

template <typename T> void reverse_lanes(const uint8_t* in, uint8_t* out, int64_t n) {
  const hn::ScalableTag<T> tag;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(tag));
  const T* from = reinterpret_cast<const T*>(in) + n;
  T* to = reinterpret_cast<T*>(out);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Reverse(tag, hn::LoadU(tag, from - i - lanes)), tag, to + i);
  for (; i < n; ++i) std::memcpy(to + i, from - i - 1, sizeof(T));
}

template <size_t kBytes> void reverse_fixed(const uint8_t* in, uint8_t* out, int64_t pixels) {
  const uint8_t* last = in + (pixels - 1) * static_cast<int64_t>(kBytes);
  for (int64_t i = 0; i < pixels; ++i, last -= kBytes, out += kBytes) std::memcpy(out, last, kBytes);
}

void reverse_row(const uint8_t* in, uint8_t* out, int64_t pixels, size_t pixel_bytes) {
  const int64_t last = (pixels - 1) * static_cast<int64_t>(pixel_bytes);
  switch (pixel_bytes) {
    case 1: return reverse_bytes(in + last, out, pixels);
    case 2: return reverse_lanes<uint16_t>(in, out, pixels);
    case 3: return reverse_pixels3(in + last, out, pixels);
    case 4: return reverse_lanes<uint32_t>(in, out, pixels);
    case 6: return reverse_fixed<6>(in, out, pixels);
    case 8: return reverse_lanes<uint64_t>(in, out, pixels);
    case 12: return reverse_fixed<12>(in, out, pixels);
    case 16: return reverse_fixed<16>(in, out, pixels);
    default:
      for (int64_t i = 0; i < pixels; ++i) {
        std::memcpy(out + i * static_cast<int64_t>(pixel_bytes), in + last - i * static_cast<int64_t>(pixel_bytes),
                    pixel_bytes);
      }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(reverse_row);

void reverse_pixels(const void* in, void* out, int64_t pixels, size_t pixel_bytes) {
  if (pixels == 0 || pixel_bytes == 0) return;
  HWY_DYNAMIC_DISPATCH(reverse_row)
  (static_cast<const uint8_t*>(in), static_cast<uint8_t*>(out), pixels, pixel_bytes);
}

}  // namespace headrace
#endif
