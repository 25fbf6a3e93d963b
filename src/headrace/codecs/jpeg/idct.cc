// The inverse DCT of libjpeg's "islow" method on two to four blocks at a time.
//
// Valid data needs no more than 32-bit sums. For data that no encoder writes, results also depend on where intermediate
// values wrap or saturate; the order of operations here is that of libjpeg-turbo's x86 code: products with the
// quantisation table, in0 +- in4 and the sums z3, z4 wrap at 16 bits, both passes end by saturating to 16 bits.
#include "codecs/jpeg/idct.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "codecs/jpeg/entropy.h"
#include "core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_DISABLED_TARGETS HEADRACE_SKIPPED_TARGETS
#define HWY_TARGET_INCLUDE "codecs/jpeg/idct.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

// Shared by all targets: constants with 13 fractional bits and the plain form of the transform.
#ifndef HEADRACE_JPEG_IDCT_ONCE
#define HEADRACE_JPEG_IDCT_ONCE
namespace headrace::jpeg {

constexpr int k0_298 = 2446, k0_390 = 3196, k0_541 = 4433, k0_765 = 6270, k0_899 = 7373, k1_175 = 9633;
constexpr int k1_501 = 12299, k1_847 = 15137, k1_961 = 16069, k2_053 = 16819, k2_562 = 20995, k3_072 = 25172;
constexpr int kPass1Shift = 11;
constexpr int kPass2Shift = 18;

// Where a block whose rows 1 to 7 are zero exceeds this in row 0, libjpeg-turbo's short cut for it wraps.
constexpr int kLargestShortCut = 8191;

// A block alone, with the short cut, which looks at coefficients before they are multiplied.
void idct_block(const int16_t* values, const int16_t* quant, uint8_t* out, ptrdiff_t stride);

}  // namespace headrace::jpeg
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace::jpeg {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // without vectors each block takes the plain form
constexpr int kBlocks = 1;

template <bool kHalf> HWY_INLINE bool idct_part(int16_t*, const int16_t*, uint8_t*, ptrdiff_t) { return false; }
#else
using D16 = hn::CappedTag<int16_t, kGroupRow>;
using D32 = hn::Repartition<int32_t, D16>;
using D64 = hn::Repartition<int64_t, D16>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;
constexpr D16 d16;
constexpr D32 d32;
constexpr D64 d64;
constexpr int kBlocks = static_cast<int>(hn::MaxLanes(d16)) / 8;  // in a vector

// Calls f with the constants 0 to n - 1: loops over arrays of vectors would keep them in memory.
template <size_t... i, class F> HWY_INLINE void unroll(std::index_sequence<i...>, const F& f) {
  (f(std::integral_constant<size_t, i>()), ...);
}
template <size_t n, class F> HWY_INLINE void unrolled(const F& f) { unroll(std::make_index_sequence<n>(), f); }

struct Wide {
  V32 lower, upper;  // of each 128-bit block
};

HWY_INLINE Wide operator+(const Wide& a, const Wide& b) {
  return {hn::Add(a.lower, b.lower), hn::Add(a.upper, b.upper)};
}
HWY_INLINE Wide operator-(const Wide& a, const Wide& b) {
  return {hn::Sub(a.lower, b.lower), hn::Sub(a.upper, b.upper)};
}

// a * first + b * second of adjacent lanes.
HWY_INLINE V32 multiply_pairs(V16 pairs, int first, int second) {
  const V32 factors = hn::Set(d32, static_cast<int32_t>(static_cast<uint32_t>(second) << 16 | (first & 0xffff)));
#if HWY_ARCH_X86
  V32 unused = hn::Zero(d32);
  return hn::ReorderWidenMulAccumulate(d32, pairs, hn::BitCast(d16, factors), hn::Zero(d32), unused);
#else
  const V32 both = hn::BitCast(d32, pairs);
  const V32 even = hn::ShiftRight<16>(hn::ShiftLeft<16>(both));
  return hn::Add(hn::Mul(even, hn::Set(d32, first)), hn::Mul(hn::ShiftRight<16>(both), hn::Set(d32, second)));
#endif
}

struct Pairs {
  V16 lower, upper;

  HWY_INLINE Pairs(V16 a, V16 b) : lower(hn::InterleaveLower(d16, a, b)), upper(hn::InterleaveUpper(d16, a, b)) {}
  HWY_INLINE Wide times(int first, int second) const {
    return {multiply_pairs(lower, first, second), multiply_pairs(upper, first, second)};
  }
};

// a * 2^13.
HWY_INLINE Wide widen(V16 a) {
  const V16 zero = hn::Zero(d16);
  return {hn::ShiftRight<3>(hn::BitCast(d32, hn::InterleaveLower(d16, zero, a))),
          hn::ShiftRight<3>(hn::BitCast(d32, hn::InterleaveUpper(d16, zero, a)))};
}

template <int kShift> HWY_INLINE V16 narrow(const Wide& a) {
  const V32 half = hn::Set(d32, 1 << (kShift - 1));
  return hn::ReorderDemote2To(d16, hn::ShiftRight<kShift>(hn::Add(a.lower, half)),
                              hn::ShiftRight<kShift>(hn::Add(a.upper, half)));
}

// t[0..3] and o[0..3] are the even and odd parts of elements 0..3; 7..4 are their differences.
template <int kShift> HWY_INLINE void combine(const Wide* t, const Wide* o, V16* v) {
  unrolled<4>([&](auto i) HWY_ATTR {
    v[i] = narrow<kShift>(t[i] + o[i]);
    v[7 - i] = narrow<kShift>(t[i] - o[i]);
  });
}

// One dimension: v[i] is element i of every column.
template <int kShift> HWY_INLINE void transform(V16* v) {
  const Pairs p26(v[2], v[6]);
  const Wide e3 = p26.times(k0_541 + k0_765, k0_541);
  const Wide e2 = p26.times(k0_541, k0_541 - k1_847);
  const Wide e0 = widen(hn::Add(v[0], v[4]));
  const Wide e1 = widen(hn::Sub(v[0], v[4]));

  const Pairs p34(hn::Add(v[7], v[3]), hn::Add(v[5], v[1]));
  const Wide z3 = p34.times(k1_175 - k1_961, k1_175);
  const Wide z4 = p34.times(k1_175, k1_175 - k0_390);
  const Pairs p71(v[7], v[1]), p53(v[5], v[3]);
  const Wide even[4] = {e0 + e3, e1 + e2, e1 - e2, e0 - e3};
  const Wide odd[4] = {p71.times(-k0_899, k1_501 - k0_899) + z4, p53.times(-k2_562, k3_072 - k2_562) + z3,
                       p53.times(k2_053 - k2_562, -k2_562) + z4, p71.times(k0_298 - k0_899, -k0_899) + z3};
  combine<kShift>(even, odd, v);
}

// The same where elements 4 to 7 are zero.
template <int kShift> HWY_INLINE void transform_half(V16* v) {
  const Pairs p02(v[0], v[2]), p31(v[3], v[1]);
  const Wide even[4] = {p02.times(1 << 13, k0_541 + k0_765), p02.times(1 << 13, k0_541), p02.times(1 << 13, -k0_541),
                        p02.times(1 << 13, -k0_541 - k0_765)};
  const Wide odd[4] = {p31.times(k1_175, k1_175 - k0_390 + k1_501 - k0_899),
                       p31.times(k1_175 - k1_961 + k3_072 - k2_562, k1_175),
                       p31.times(k1_175 - k2_562, k1_175 - k0_390), p31.times(k1_175 - k1_961, k1_175 - k0_899)};
  combine<kShift>(even, odd, v);
}

template <class D> HWY_INLINE void interleave(D d, V16 a, V16 b, V16& lower, V16& upper) {
  lower = hn::BitCast(d16, hn::InterleaveLower(d, hn::BitCast(d, a), hn::BitCast(d, b)));
  upper = hn::BitCast(d16, hn::InterleaveUpper(d, hn::BitCast(d, a), hn::BitCast(d, b)));
}

// Transposes the 8 x 8 values in each 128-bit block.
HWY_INLINE void transpose(V16* v) {
  V16 t[8], u[8];
  unrolled<4>([&](auto i) HWY_ATTR { interleave(d16, v[2 * i], v[2 * i + 1], t[2 * i], t[2 * i + 1]); });
  unrolled<2>([&](auto i) HWY_ATTR {
    interleave(d32, t[4 * i], t[4 * i + 2], u[4 * i], u[4 * i + 1]);
    interleave(d32, t[4 * i + 1], t[4 * i + 3], u[4 * i + 2], u[4 * i + 3]);
  });
  unrolled<4>([&](auto i) HWY_ATTR { interleave(d64, u[i], u[4 + i], v[2 * i], v[2 * i + 1]); });
}

// As many blocks as fit a vector; kHalf: only their first four rows and columns are set. False, with nothing done, if
// row 0 is large enough for the short cut to matter.
template <bool kHalf> HWY_INLINE bool idct_part(int16_t* values, const int16_t* quant, uint8_t* out, ptrdiff_t stride) {
  constexpr size_t kRows = kHalf ? 4 : 8;
  V16 v[8];
  unrolled<kRows>([&](auto i) HWY_ATTR {
    v[i] = hn::Mul(hn::Load(d16, values + i * kGroupRow), hn::LoadDup128(d16, quant + i * 8));
  });
  const auto wraps =
      hn::Or(hn::Gt(v[0], hn::Set(d16, kLargestShortCut)), hn::Lt(v[0], hn::Set(d16, -kLargestShortCut - 1)));
  if (!hn::AllFalse(d16, wraps)) [[unlikely]]
    return false;
  for (size_t i = 0; i < kRows; ++i) hn::Store(hn::Zero(d16), d16, values + i * kGroupRow);
  if constexpr (kHalf) {
    transform_half<kPass1Shift>(v);
    transpose(v);
    transform_half<kPass2Shift>(v);
  } else {
    transform<kPass1Shift>(v);
    transpose(v);
    transform<kPass2Shift>(v);
  }
  transpose(v);
  const hn::Rebind<uint8_t, D16> d8;
  const V16 center = hn::Set(d16, 128);
  unrolled<8>([&](auto i) HWY_ATTR {
    hn::StoreU(hn::DemoteTo(d8, hn::SaturatedAdd(v[i], center)), d8, out + static_cast<ptrdiff_t>(i) * stride);
  });
  return true;
}

#endif

HWY_INLINE void idct_one_by_one(int16_t* values, const int16_t* quant, int blocks, uint8_t* out, ptrdiff_t stride) {
  for (int b = 0; b < blocks; ++b) {
    int16_t block[64];
    for (int i = 0; i < 64; ++i) {
      int16_t& value = values[i / 8 * kGroupRow + b * 8 + i % 8];
      block[i] = value;
      value = 0;
    }
    idct_block(block, quant, out + b * 8, stride);
  }
}

HWY_INLINE void fill_group(int16_t* values, const int16_t* quant, uint8_t* out, ptrdiff_t stride) {
  for (int b = 0; b < kGroupBlocks; ++b) {
    const auto scaled = static_cast<int16_t>(static_cast<int16_t>(values[b * 8] * quant[0]) * 4);
    values[b * 8] = 0;
    const uint64_t pixel = static_cast<uint64_t>(std::clamp((scaled + 16) >> 5, -128, 127) + 128);
    const uint64_t row = pixel * 0x0101010101010101u;
    for (int i = 0; i < 8; ++i) std::memcpy(out + b * 8 + i * stride, &row, sizeof row);
  }
}

void idct(int16_t* values, uint8_t* busy, int groups, const uint16_t* quant_table, uint8_t* out, ptrdiff_t stride) {
  alignas(16) int16_t quant[64];
  std::memcpy(quant, quant_table, sizeof quant);
  for (int g = 0; g < groups; ++g, values += kGroupSize, out += kGroupRow) {
    if (busy[g] == kOnlyDc) {
      fill_group(values, quant, out, stride);
      continue;
    }
    const bool half = busy[g] == kLowFrequencies;
    busy[g] = kOnlyDc;
    for (int x = 0; x < kGroupRow; x += 8 * kBlocks) {
      const bool done = half ? idct_part<true>(values + x, quant, out + x, stride)
                             : idct_part<false>(values + x, quant, out + x, stride);
      if (!done) idct_one_by_one(values + x, quant, kBlocks, out + x, stride);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace::jpeg
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::jpeg {

HWY_EXPORT(idct);

void idct_groups(int16_t* coefficients, uint8_t* busy, int groups, const QuantTable& quant, uint8_t* out,
                 ptrdiff_t stride) {
  HWY_DYNAMIC_DISPATCH(idct)(coefficients, busy, groups, quant.data(), out, stride);
}

namespace {

int16_t wrap16(int a) { return static_cast<int16_t>(a); }

int16_t descale(uint32_t a, int shift) {
  const int value = static_cast<int32_t>(a + (1u << (shift - 1))) >> shift;
  return static_cast<int16_t>(std::clamp(value, -32768, 32767));
}

// One row or column with `step` between its elements; sums wrap at 32 bits as vectors do.
void transform_line(const int16_t* in, int16_t* out, int step, int shift) {
  const auto sum = [](int a, int ka, int b, int kb) {
    return static_cast<uint32_t>(a * ka) + static_cast<uint32_t>(b * kb);
  };
  const int i0 = in[0], i1 = in[step], i2 = in[2 * step], i3 = in[3 * step];
  const int i4 = in[4 * step], i5 = in[5 * step], i6 = in[6 * step], i7 = in[7 * step];
  const uint32_t e3 = sum(i2, k0_541 + k0_765, i6, k0_541);
  const uint32_t e2 = sum(i2, k0_541, i6, k0_541 - k1_847);
  const auto e0 = static_cast<uint32_t>(wrap16(i0 + i4)) << 13;
  const auto e1 = static_cast<uint32_t>(wrap16(i0 - i4)) << 13;
  const int s3 = wrap16(i7 + i3), s4 = wrap16(i5 + i1);
  const uint32_t z3 = sum(s3, k1_175 - k1_961, s4, k1_175);
  const uint32_t z4 = sum(s3, k1_175, s4, k1_175 - k0_390);
  const uint32_t odd[4] = {sum(i7, -k0_899, i1, k1_501 - k0_899) + z4, sum(i5, -k2_562, i3, k3_072 - k2_562) + z3,
                           sum(i5, k2_053 - k2_562, i3, -k2_562) + z4, sum(i7, k0_298 - k0_899, i1, -k0_899) + z3};
  const uint32_t even[4] = {e0 + e3, e1 + e2, e1 - e2, e0 - e3};
  for (int i = 0; i < 4; ++i) {
    out[i * step] = descale(even[i] + odd[i], shift);
    out[(7 - i) * step] = descale(even[i] - odd[i], shift);
  }
}

}  // namespace

void idct_block(const int16_t* values, const int16_t* quant, uint8_t* out, ptrdiff_t stride) {
  const bool short_cut = std::all_of(values + 8, values + 64, [](int16_t v) { return v == 0; });
  int16_t scaled[64];
  for (int i = 0; i < 64; ++i) scaled[i] = wrap16(values[i] * quant[i]);
  int16_t work[64];
  for (int x = 0; x < 8; ++x) {
    if (short_cut) {
      for (int y = 0; y < 8; ++y) work[y * 8 + x] = wrap16(scaled[x] * 4);
    } else {
      transform_line(scaled + x, work + x, 8, kPass1Shift);
    }
  }
  for (int y = 0; y < 8; ++y) {
    int16_t line[8];
    transform_line(work + y * 8, line, 1, kPass2Shift);
    for (int x = 0; x < 8; ++x) out[y * stride + x] = static_cast<uint8_t>(std::clamp<int>(line[x], -128, 127) + 128);
  }
}

}  // namespace headrace::jpeg
#endif
