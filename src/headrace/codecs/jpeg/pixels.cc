// Chroma upsampling and colour conversion, bit for bit as in libjpeg.
#include "codecs/jpeg/pixels.h"

#include <cstring>

#include "core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_DISABLED_TARGETS HEADRACE_SKIPPED_TARGETS
#define HWY_TARGET_INCLUDE "codecs/jpeg/pixels.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::jpeg {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::CappedTag<int16_t, 16>;
using D8 = hn::Rebind<uint8_t, D16>;
using V16 = hn::Vec<D16>;
using V8 = hn::Vec<D8>;
constexpr D16 d16;
constexpr D8 d8;
constexpr hn::Repartition<int32_t, D16> d32;

HWY_INLINE V16 load(const uint8_t* p) { return hn::PromoteTo(d16, hn::LoadU(d8, p)); }

HWY_INLINE V16 times3(V16 v) { return hn::Add(v, hn::Add(v, v)); }

// Bytes even[0], odd[0], even[1], ...
HWY_INLINE void store_pairs(V16 even, V16 odd, uint8_t* out) {
  hn::StoreU(hn::Or(even, hn::ShiftLeft<8>(odd)), d16, reinterpret_cast<int16_t*>(out));
}

void h2v1(const uint8_t* in, int n, uint8_t* out) {
  const int lanes = static_cast<int>(hn::Lanes(d16));
  for (int i = 0; i < n; i += lanes) {
    const V16 near = times3(load(in + i));
    store_pairs(hn::ShiftRight<2>(hn::Add(hn::Add(near, load(in + i - 1)), hn::Set(d16, 1))),
                hn::ShiftRight<2>(hn::Add(hn::Add(near, load(in + i + 1)), hn::Set(d16, 2))), out + 2 * i);
  }
}

void h2v2(const uint8_t* near, const uint8_t* far, int n, uint8_t* out) {
  const int lanes = static_cast<int>(hn::Lanes(d16));
  const auto column = [&](int i) HWY_ATTR { return hn::Add(times3(load(near + i)), load(far + i)); };
  for (int i = 0; i < n; i += lanes) {
    const V16 middle = times3(column(i));
    store_pairs(hn::ShiftRight<4>(hn::Add(hn::Add(middle, column(i - 1)), hn::Set(d16, 8))),
                hn::ShiftRight<4>(hn::Add(hn::Add(middle, column(i + 1)), hn::Set(d16, 7))), out + 2 * i);
  }
}

void h1v2(const uint8_t* near, const uint8_t* far, bool lower, int n, uint8_t* out) {
  const int lanes = static_cast<int>(hn::Lanes(d16));
  const V16 bias = hn::Set(d16, lower ? 2 : 1);
  for (int i = 0; i < n; i += lanes) {
    const V16 sum = hn::Add(hn::Add(times3(load(near + i)), load(far + i)), bias);
    hn::StoreU(hn::DemoteTo(d8, hn::ShiftRight<2>(sum)), d8, out + i);
  }
}

struct Rgb {
  V8 r, g, b;
};

// (a * 2^-16 * factor, rounded), for factors within 16 bits.
HWY_INLINE V16 scale(V16 a, int factor) {
  const V16 product = hn::MulHigh(hn::Add(a, a), hn::Set(d16, static_cast<int16_t>(factor)));
  return hn::ShiftRight<1>(hn::Add(product, hn::Set(d16, 1)));
}

// -0.34414 cb + 0.28586 cr, rounded.
HWY_INLINE V16 green_part(V16 cb, V16 cr) {
  constexpr int kCb = -22554, kCr = 18734;
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  const auto factors = hn::Set(d32, static_cast<int32_t>(static_cast<uint32_t>(kCr) << 16 | (kCb & 0xffff)));
  const auto half = hn::Set(d32, 1 << 15);
  auto unused = hn::Zero(d32);
  const auto product = [&](V16 pairs) HWY_ATTR {
    return hn::ShiftRight<16>(hn::ReorderWidenMulAccumulate(d32, pairs, hn::BitCast(d16, factors), half, unused));
  };
  return hn::ReorderDemote2To(d16, product(hn::InterleaveLower(d16, cb, cr)),
                              product(hn::InterleaveUpper(d16, cb, cr)));
#elif HWY_TARGET == HWY_SCALAR
  return hn::Set(d16, static_cast<int16_t>((kCb * hn::GetLane(cb) + kCr * hn::GetLane(cr) + (1 << 15)) >> 16));
#else
  const auto half = hn::Set(d32, 1 << 15);
  const hn::Half<D16> dh;
  const auto part = [&](auto b, auto r) HWY_ATTR {
    const auto sum =
        hn::Add(hn::Mul(hn::PromoteTo(d32, b), hn::Set(d32, kCb)), hn::Mul(hn::PromoteTo(d32, r), hn::Set(d32, kCr)));
    return hn::DemoteTo(dh, hn::ShiftRight<16>(hn::Add(sum, half)));
  };
  return hn::Combine(d16, part(hn::UpperHalf(dh, cb), hn::UpperHalf(dh, cr)),
                     part(hn::LowerHalf(dh, cb), hn::LowerHalf(dh, cr)));
#endif
}

HWY_INLINE Rgb convert(const uint8_t* luma, const uint8_t* blue, const uint8_t* red) {
  const V16 center = hn::Set(d16, 128);
  const V16 y = load(luma);
  const V16 cb = hn::Sub(load(blue), center);
  const V16 cr = hn::Sub(load(red), center);
  // 1.402 = 1 + 0.402, 1.772 = 2 - 0.228, 0.71414 = 1 - 0.28586: the fractions fit 16 bits.
  const V16 r = hn::Add(hn::Add(y, cr), scale(cr, 26345));
  const V16 b = hn::Add(hn::Add(y, hn::Add(cb, cb)), scale(cb, -14942));
  const V16 g = hn::Add(hn::Sub(y, cr), green_part(cb, cr));
  return {hn::DemoteTo(d8, r), hn::DemoteTo(d8, g), hn::DemoteTo(d8, b)};
}

// Stores pixels made by `make` from vectors at i, without a write past the end of the row.
template <class Make> HWY_INLINE void store_pixels(int n, uint8_t* out, const Make& make) {
  const int lanes = static_cast<int>(hn::Lanes(d16));
  if (n < lanes) {
    HWY_ALIGN uint8_t row[3 * 16];
    const Rgb p = make(0);
    hn::StoreInterleaved3(p.r, p.g, p.b, d8, row);
    std::memcpy(out, row, static_cast<size_t>(3 * n));
    return;
  }
  int i = 0;
  for (; i + lanes <= n; i += lanes) {
    const Rgb p = make(i);
    hn::StoreInterleaved3(p.r, p.g, p.b, d8, out + 3 * i);
  }
  if (i < n) {
    const Rgb p = make(n - lanes);
    hn::StoreInterleaved3(p.r, p.g, p.b, d8, out + 3 * (n - lanes));
  }
}

void ycc(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int n, bool bgr, uint8_t* out) {
  if (bgr) {
    store_pixels(n, out, [&](int i) HWY_ATTR {
      const Rgb p = convert(y + i, cb + i, cr + i);
      return Rgb{p.b, p.g, p.r};
    });
  } else {
    store_pixels(n, out, [&](int i) HWY_ATTR { return convert(y + i, cb + i, cr + i); });
  }
}

void merge(const uint8_t* a, const uint8_t* b, const uint8_t* c, int n, uint8_t* out) {
  store_pixels(n, out, [&](int i) HWY_ATTR {
    return Rgb{hn::LoadU(d8, a + i), hn::LoadU(d8, b + i), hn::LoadU(d8, c + i)};
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace::jpeg
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::jpeg {

HWY_EXPORT(h2v1);
HWY_EXPORT(h2v2);
HWY_EXPORT(h1v2);
HWY_EXPORT(ycc);
HWY_EXPORT(merge);

void upsample_h2v1(const uint8_t* in, int n, uint8_t* out) { HWY_DYNAMIC_DISPATCH(h2v1)(in, n, out); }

void upsample_h2v2(const uint8_t* near, const uint8_t* far, int n, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(h2v2)(near, far, n, out);
}

void upsample_h1v2(const uint8_t* near, const uint8_t* far, bool lower, int n, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(h1v2)(near, far, lower, n, out);
}

void repeat_samples(const uint8_t* in, int n, int times, uint8_t* out) {
  for (int i = 0; i < n; ++i, out += times) std::memset(out, in[i], static_cast<size_t>(times));
}

void ycc_to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int n, bool bgr, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(ycc)(y, cb, cr, n, bgr, out);
}

void merge_planes(const uint8_t* a, const uint8_t* b, const uint8_t* c, int n, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(merge)(a, b, c, n, out);
}

}  // namespace headrace::jpeg
#endif
