// Row kernels of resampling, with SIMD.
#include "kernels/cpu/resample_rows.h"

#include <algorithm>
#include <iterator>

#include "core/simd_targets.h"

#define HWY_DISABLED_TARGETS HEADRACE_SKIPPED_TARGETS
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/resample_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;
constexpr FloatTag kFloat;
using PixelTag = hn::CappedTag<float, 4>;
constexpr PixelTag kPixel;

template <typename In> HWY_INLINE FloatVec load_float(const In* in) {
  if constexpr (std::is_same_v<In, float>) {
    return hn::LoadU(kFloat, in);
  } else {
    const hn::RebindToSigned<FloatTag> wide;
    const hn::Rebind<In, FloatTag> narrow;
    return hn::ConvertTo(kFloat, hn::PromoteTo(wide, hn::LoadU(narrow, in)));
  }
}

// Elements [j, j + kVectors * lanes) of the blended row.
template <int kVectors, typename In>
HWY_INLINE void blend_block(const void* const* rows, const float* weights, int64_t taps, float* out, int64_t j) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(kFloat));
  FloatVec sum[kVectors];
  const In* row = static_cast<const In*>(rows[0]) + j;
  const FloatVec first = hn::Set(kFloat, weights[0]);
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::Mul(first, load_float(row + v * lanes));
  for (int64_t k = 1; k < taps; ++k) {
    row = static_cast<const In*>(rows[k]) + j;
    const FloatVec weight = hn::Set(kFloat, weights[k]);
    for (int v = 0; v < kVectors; ++v) sum[v] = hn::Add(sum[v], hn::Mul(weight, load_float(row + v * lanes)));
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[v], kFloat, out + j + v * lanes);
}

template <typename In>
void blend_rows(const void* const* rows, const float* weights, int64_t taps, float* out, int64_t n) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(kFloat));
  int64_t j = 0;
  for (; j + 4 * lanes <= n; j += 4 * lanes) blend_block<4, In>(rows, weights, taps, out, j);
  for (; j + lanes <= n; j += lanes) blend_block<1, In>(rows, weights, taps, out, j);
  if (j < n && n >= lanes) {  // the last vector overlaps the one before
    blend_block<1, In>(rows, weights, taps, out, n - lanes);
    return;
  }
  for (; j < n; ++j) {
    float sum = weights[0] * static_cast<float>(static_cast<const In*>(rows[0])[j]);
    for (int64_t k = 1; k < taps; ++k) sum += weights[k] * static_cast<float>(static_cast<const In*>(rows[k])[j]);
    out[j] = sum;
  }
}

// Pixels of up to four floats: what lies in the lanes beyond a pixel is overwritten by the next one. kTaps is the
// number of taps, so that their loop is unrolled, or 0 for any.
template <int kTaps> void filter_narrow(const float* in, const ResampleTable& table, int64_t channels, float* out) {
  const int64_t taps = kTaps > 0 ? kTaps : table.taps;
  const float* weights = table.weights;
  in -= table.begin * channels;
  for (int64_t i = 0; i < table.out; ++i, weights += taps, out += channels) {
    const float* pixel = in + table.first[i] * channels;
    auto sum = hn::Mul(hn::Set(kPixel, weights[0]), hn::LoadU(kPixel, pixel));
    HWY_UNROLL(8)
    for (int64_t k = 1; k < taps; ++k) {
      sum = hn::Add(sum, hn::Mul(hn::Set(kPixel, weights[k]), hn::LoadU(kPixel, pixel + k * channels)));
    }
    hn::StoreU(sum, kPixel, out);
  }
}

using FilterRow = decltype(ResampleRowKernels::filter_row);
constexpr FilterRow kFilterNarrow[] = {filter_narrow<0>, filter_narrow<1>, filter_narrow<2>,
                                       filter_narrow<3>, filter_narrow<4>, filter_narrow<5>,
                                       filter_narrow<6>, filter_narrow<7>, filter_narrow<8>};

void filter_wide(const float* in, const ResampleTable& table, int64_t channels, float* out) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(kFloat));
  const float* weights = table.weights;
  for (int64_t i = 0; i < table.out; ++i, weights += table.taps, out += channels) {
    const float* first = in + (table.first[i] - table.begin) * channels;
    for (int64_t c = 0; c < channels; c += lanes) {
      const float* pixel = first + c;
      FloatVec sum = hn::Mul(hn::Set(kFloat, weights[0]), hn::LoadU(kFloat, pixel));
      for (int64_t k = 1; k < table.taps; ++k) {
        pixel += channels;
        sum = hn::Add(sum, hn::Mul(hn::Set(kFloat, weights[k]), hn::LoadU(kFloat, pixel)));
      }
      hn::StoreU(sum, kFloat, out + c);
    }
  }
}

void filter_row(const float* in, const ResampleTable& table, int64_t channels, float* out) {
  if (channels <= static_cast<int64_t>(hn::Lanes(kPixel))) {
    constexpr int64_t kUnrolled = std::size(kFilterNarrow);
    kFilterNarrow[table.taps < kUnrolled ? table.taps : 0](in, table, channels, out);
  } else {
    filter_wide(in, table, channels, out);
  }
}

#if HWY_MAX_BYTES >= 32 && !HWY_HAVE_SCALABLE
using PairTag = hn::CappedTag<float, 8>;
constexpr PairTag kPair;

// As filter_narrow, a pixel of each row in one half of a vector.
template <int kTaps>
void filter_narrow_pair(const float* in, int64_t in_stride, const ResampleTable& table, int64_t channels, float* out,
                        int64_t out_stride) {
  const int64_t taps = kTaps > 0 ? kTaps : table.taps;
  const float* weights = table.weights;
  in -= table.begin * channels;
  for (int64_t i = 0; i < table.out; ++i, weights += taps, out += channels) {
    const float* pixel = in + table.first[i] * channels;
    const auto load = [&](int64_t at) HWY_ATTR {
      return hn::Combine(kPair, hn::LoadU(kPixel, pixel + in_stride + at), hn::LoadU(kPixel, pixel + at));
    };
    auto sum = hn::Mul(hn::Set(kPair, weights[0]), load(0));
    HWY_UNROLL(8)
    for (int64_t k = 1; k < taps; ++k) sum = hn::Add(sum, hn::Mul(hn::Set(kPair, weights[k]), load(k * channels)));
    hn::StoreU(hn::LowerHalf(kPixel, sum), kPixel, out);
    hn::StoreU(hn::UpperHalf(kPixel, sum), kPixel, out + out_stride);
  }
}

using FilterPair = decltype(ResampleRowKernels::filter_pair);
constexpr FilterPair kFilterNarrowPair[] = {filter_narrow_pair<0>, filter_narrow_pair<1>, filter_narrow_pair<2>,
                                            filter_narrow_pair<3>, filter_narrow_pair<4>, filter_narrow_pair<5>,
                                            filter_narrow_pair<6>, filter_narrow_pair<7>, filter_narrow_pair<8>};
#endif

void filter_pair(const float* in, int64_t in_stride, const ResampleTable& table, int64_t channels, float* out,
                 int64_t out_stride) {
#if HWY_MAX_BYTES >= 32 && !HWY_HAVE_SCALABLE
  if (channels <= static_cast<int64_t>(hn::Lanes(kPixel))) {
    constexpr int64_t kUnrolled = std::size(kFilterNarrowPair);
    kFilterNarrowPair[table.taps < kUnrolled ? table.taps : 0](in, in_stride, table, channels, out, out_stride);
    return;
  }
#endif
  filter_row(in, table, channels, out);
  filter_row(in + in_stride, table, channels, out + out_stride);
}

// Half away from zero: truncates x plus the largest number below a half (see core/convert.h). For unsigned types the
// sign doesn't matter: whatever is negative becomes 0.
template <typename Out> HWY_INLINE hn::Vec<hn::RebindToSigned<FloatTag>> round_to_int(FloatVec x) {
  FloatVec half = hn::Set(kFloat, 0.49999997f);
  if constexpr (std::is_signed_v<Out>) half = hn::CopySign(half, x);
  return hn::ConvertTo(hn::RebindToSigned<FloatTag>(), hn::Add(x, half));
}

template <typename Out> void store_row(const float* in, void* to, int64_t n) {
  Out* out = static_cast<Out*>(to);
  if constexpr (std::is_same_v<Out, float>) {
    std::copy_n(in, n, out);
  } else {
    const hn::Rebind<Out, FloatTag> narrow;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(kFloat));
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      hn::StoreU(hn::DemoteTo(narrow, round_to_int<Out>(hn::LoadU(kFloat, in + i))), narrow, out + i);
    }
    if (i == n) return;
    Out tail[hn::MaxLanes(kFloat)];  // the input has slack
    hn::StoreU(hn::DemoteTo(narrow, round_to_int<Out>(hn::LoadU(kFloat, in + i))), narrow, tail);
    std::copy_n(tail, n - i, out + i);
  }
}

void interleave_rows(const float* in, int64_t stride, float* out, int64_t n) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(kPixel));
  for (int64_t i = 0; i < n; i += lanes) {
    const float* from = in + i;
    hn::StoreInterleaved4(hn::LoadU(kPixel, from), hn::LoadU(kPixel, from + stride),
                          hn::LoadU(kPixel, from + 2 * stride), hn::LoadU(kPixel, from + 3 * stride), kPixel,
                          out + 4 * i);
  }
}

void separate_rows(const float* in, float* out, int64_t stride, int64_t n) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(kPixel));
  for (int64_t i = 0; i < n; i += lanes) {
    hn::Vec<PixelTag> a, b, c, d;
    hn::LoadInterleaved4(kPixel, in + 4 * i, a, b, c, d);
    hn::StoreU(a, kPixel, out + i);
    hn::StoreU(b, kPixel, out + stride + i);
    hn::StoreU(c, kPixel, out + 2 * stride + i);
    hn::StoreU(d, kPixel, out + 3 * stride + i);
  }
}

using Blend = decltype(ResampleRowKernels::blend_rows);
using Store = decltype(ResampleRowKernels::store_row);

Blend find_blend(DType in) {
  switch (in) {
    case DType::kUInt8: return blend_rows<uint8_t>;
    case DType::kUInt16: return blend_rows<uint16_t>;
    case DType::kInt16: return blend_rows<int16_t>;
    case DType::kFloat32: return blend_rows<float>;
    default: return nullptr;
  }
}

Store find_store(DType out) {
  switch (out) {
    case DType::kUInt8: return store_row<uint8_t>;
    case DType::kUInt16: return store_row<uint16_t>;
    case DType::kInt16: return store_row<int16_t>;
    case DType::kFloat32: return store_row<float>;
    default: return nullptr;
  }
}

ResampleRowKernels find_kernels(DType in, DType out) {
  return {find_blend(in), blend_rows<float>, filter_row, filter_pair, find_store(out), interleave_rows, separate_rows};
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(find_kernels);

ResampleRowKernels find_resample_kernels(DType in, DType out) { return HWY_DYNAMIC_DISPATCH(find_kernels)(in, out); }

}  // namespace headrace
#endif
