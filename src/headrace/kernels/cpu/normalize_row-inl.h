// The loops of normalize_row.h for one type in and one type out: contiguous runs with SIMD, everything else by way of
// small contiguous buffers. Included once for each target.
#include "kernels/cpu/normalize_row.h"

#include <algorithm>
#include <cstring>

#include "hwy/highway.h"
#include "kernels/cpu/reverse_pixels-inl.h"

#if defined(HEADRACE_NORMALIZE_ROW_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_NORMALIZE_ROW_INL
#undef HEADRACE_NORMALIZE_ROW_INL
#else
#define HEADRACE_NORMALIZE_ROW_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::RebindToSigned<FloatTag>;
using FloatVec = hn::Vec<FloatTag>;
constexpr FloatTag kFloat;
constexpr IntTag kInt;

// Elements of the buffers between stages: small enough for the first-level cache.
constexpr int64_t kChunk = 512;
constexpr int64_t kMaxPeriod = 16;

// Highway's own half precision isn't IEEE rounding on targets without the instructions; smaller numbers are better
// targets.
#if (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || HWY_ARCH_ARM_A64
constexpr bool kHardwareHalf = true;
#else
constexpr bool kHardwareHalf = false;
#endif

template <typename In> HWY_INLINE FloatVec load_float(const In* in) {
  if constexpr (std::is_same_v<In, float>) {
    return hn::LoadU(kFloat, in);
  } else if constexpr (std::is_same_v<In, int32_t>) {
    return hn::ConvertTo(kFloat, hn::LoadU(kInt, in));
  } else if constexpr (std::is_same_v<In, Float16>) {
    if constexpr (kHardwareHalf) {
      const hn::Rebind<hwy::float16_t, FloatTag> half;
      return hn::PromoteTo(kFloat, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(in)));
    } else {
      HWY_ALIGN float wide[hn::MaxLanes(kFloat)];
      for (size_t i = 0; i < hn::Lanes(kFloat); ++i) wide[i] = static_cast<float>(in[i]);
      return hn::Load(kFloat, wide);
    }
  } else {
    const hn::Rebind<In, FloatTag> narrow;
    return hn::ConvertTo(kFloat, hn::PromoteTo(kInt, hn::LoadU(narrow, in)));
  }
}

// Half away from zero, exactly: the fraction x - trunc(x) has no rounding error.
HWY_INLINE FloatVec round_half_away(FloatVec x) {
  const FloatVec whole = hn::Trunc(x);
  const FloatVec fraction = hn::Sub(x, whole);
  const auto away = hn::Ge(hn::Abs(fraction), hn::Set(kFloat, 0.5f));
  return hn::Add(whole, hn::IfThenElseZero(away, hn::CopySign(hn::Set(kFloat, 1.0f), x)));
}

template <typename Out> HWY_INLINE void store_float(FloatVec x, Out* out) {
  if constexpr (std::is_same_v<Out, float>) {
    hn::StoreU(x, kFloat, out);
  } else if constexpr (std::is_same_v<Out, Float16>) {
    if constexpr (kHardwareHalf) {
      const hn::Rebind<hwy::float16_t, FloatTag> half;
      hn::StoreU(hn::DemoteTo(half, x), half, reinterpret_cast<hwy::float16_t*>(out));
    } else {
      HWY_ALIGN float wide[hn::MaxLanes(kFloat)];
      hn::Store(x, kFloat, wide);
      for (size_t i = 0; i < hn::Lanes(kFloat); ++i) out[i] = Float16(wide[i]);
    }
  } else {
    const hn::Rebind<Out, FloatTag> narrow;
    const FloatVec numbers = hn::IfThenZeroElse(hn::IsNaN(x), x);
    const FloatVec inside = hn::Clamp(numbers, hn::Set(kFloat, -1000.0f), hn::Set(kFloat, 1000.0f));
    hn::StoreU(hn::DemoteTo(narrow, hn::ConvertTo(kInt, round_half_away(inside))), narrow, out);
  }
}

HWY_INLINE FloatVec normalize(FloatVec x, FloatVec mean, FloatVec factor, FloatVec shift) {
  return hn::Add(hn::Mul(hn::Sub(x, mean), factor), shift);
}

// `n` contiguous values; value i has mean[i % period * lanes ...]: the tables hold `period` vectors.
// Not inlined, for the compiler's time: its callers have long runs.
template <typename In, typename Out>
HWY_NOINLINE void normalize_run(const In* in, Out* out, int64_t n, const float* mean, const float* factor,
                                int64_t period, float shift_value) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(kFloat));
  const FloatVec shift = hn::Set(kFloat, shift_value);
  int64_t i = 0;
  if (period == 1) {
    const FloatVec m = hn::LoadU(kFloat, mean), f = hn::LoadU(kFloat, factor);
    for (; i + lanes <= n; i += lanes) store_float(normalize(load_float(in + i), m, f, shift), out + i);
  } else {
    for (; i + period * lanes <= n; i += period * lanes) {
      for (int64_t k = 0; k < period * lanes; k += lanes) {
        const FloatVec m = hn::LoadU(kFloat, mean + k), f = hn::LoadU(kFloat, factor + k);
        store_float(normalize(load_float(in + i + k), m, f, shift), out + i + k);
      }
    }
  }
  for (int64_t k = 0; i < n; i += lanes, k += lanes) {  // less than a period; the last vector may be a part
    const FloatVec m = hn::LoadU(kFloat, mean + k), f = hn::LoadU(kFloat, factor + k);
    if (i + lanes <= n) {
      store_float(normalize(load_float(in + i), m, f, shift), out + i);
      continue;
    }
    In part[hn::MaxLanes(kFloat)] = {};
    Out result[hn::MaxLanes(kFloat)];
    std::memcpy(static_cast<void*>(part), in + i, static_cast<size_t>(n - i) * sizeof(In));
    store_float(normalize(load_float(part), m, f, shift), result);
    std::memcpy(static_cast<void*>(out + i), result, static_cast<size_t>(n - i) * sizeof(Out));
  }
}

// The per-channel constants as `channels` vectors that repeat with the channels.
struct Pattern {
  HWY_ALIGN float mean[kMaxPeriod * hn::MaxLanes(kFloat)];
  HWY_ALIGN float factor[kMaxPeriod * hn::MaxLanes(kFloat)];

  Pattern(const float* means, const float* factors, int64_t channels) {
    const int64_t n = channels * static_cast<int64_t>(hn::Lanes(kFloat));
    for (int64_t i = 0, c = 0; i < n; ++i) {
      mean[i] = means[c];
      factor[i] = factors[c];
      if (++c == channels) c = 0;
    }
  }
};

// Splits pixels of three bytes into three runs that lie `stride` apart.
HWY_INLINE void split_pixels3(const uint8_t* in, uint8_t* out, int64_t stride, int64_t pixels) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(kBytes));
  int64_t i = 0;
  for (; i + lanes <= pixels; i += lanes) {
    ByteVec a, b, c;
    hn::LoadInterleaved3(kBytes, in + 3 * i, a, b, c);
    hn::StoreU(a, kBytes, out + i);
    hn::StoreU(b, kBytes, out + stride + i);
    hn::StoreU(c, kBytes, out + 2 * stride + i);
  }
  for (; i < pixels; ++i) {
    for (int64_t c = 0; c < 3; ++c) out[c * stride + i] = in[3 * i + c];
  }
}

// Interleaved in and out, the same channels in both: one run with a repeating pattern.
template <typename In, typename Out> void interleaved_row(const NormalizeRow& row) {
  const Pattern pattern(row.mean, row.factor, row.channels);
  const In* in = static_cast<const In*>(row.in);
  Out* out = static_cast<Out*>(row.out);
  const int64_t channels = row.channels;
  if (row.in_pixel > 0) {
    normalize_run(in, out, row.pixels * channels, pattern.mean, pattern.factor, channels, row.shift);
    return;
  }
  In buffer[kChunk];
  const int64_t step = kChunk / channels;
  for (int64_t x = 0; x < row.pixels; x += step) {
    const int64_t n = std::min(step, row.pixels - x);
    const In* from = in - x * channels;
    if (std::is_same_v<In, uint8_t> && channels == 3) {
      reverse_pixels3(reinterpret_cast<const uint8_t*>(from), reinterpret_cast<uint8_t*>(buffer), n);
    } else {
      for (int64_t i = 0; i < n; ++i) std::copy_n(from - i * channels, channels, buffer + i * channels);
    }
    normalize_run(buffer, out + x * channels, n * channels, pattern.mean, pattern.factor, channels, row.shift);
  }
}

// One channel: contiguous where it can be, else collected into a buffer first and spread from one after.
template <typename In, typename Out>
HWY_NOINLINE void channel_row(const NormalizeRow& row, const In* in, Out* out, float mean_value, float factor_value) {
  HWY_ALIGN float mean[hn::MaxLanes(kFloat)];
  HWY_ALIGN float factor[hn::MaxLanes(kFloat)];
  hn::Store(hn::Set(kFloat, mean_value), kFloat, mean);
  hn::Store(hn::Set(kFloat, factor_value), kFloat, factor);
  if (row.in_pixel == 1 && row.out_pixel == 1) {
    normalize_run(in, out, row.pixels, mean, factor, 1, row.shift);
    return;
  }
  In collected[kChunk];
  Out spread[kChunk];
  for (int64_t x = 0; x < row.pixels; x += kChunk) {
    const int64_t n = std::min(kChunk, row.pixels - x);
    const In* from = in + x * row.in_pixel;
    if (std::is_same_v<In, uint8_t> && row.in_pixel == -1) {
      reverse_bytes(reinterpret_cast<const uint8_t*>(from), reinterpret_cast<uint8_t*>(collected), n);
      from = collected;
    } else if (row.in_pixel != 1) {
      for (int64_t i = 0; i < n; ++i) collected[i] = from[i * row.in_pixel];
      from = collected;
    }
    if (row.out_pixel == 1) {
      normalize_run(from, out + x, n, mean, factor, 1, row.shift);
      continue;
    }
    normalize_run(from, spread, n, mean, factor, 1, row.shift);
    for (int64_t i = 0; i < n; ++i) out[(x + i) * row.out_pixel] = spread[i];
  }
}

// A vector of kBytes. Its type is a parameter so that the first branch is left alone where it has no meaning.
template <typename Out, typename Bytes>
HWY_INLINE void normalize_bytes(Bytes bytes, FloatVec mean, FloatVec factor, FloatVec shift, Out* out) {
  if constexpr (hn::MaxLanes(kFloat) == hn::MaxLanes(kBytes)) {
    store_float(normalize(hn::ConvertTo(kFloat, hn::PromoteTo(kInt, bytes)), mean, factor, shift), out);
  } else {
    HWY_ALIGN uint8_t part[hn::MaxLanes(kBytes)];
    hn::Store(bytes, kBytes, part);
    for (size_t i = 0; i < hn::Lanes(kBytes); i += hn::Lanes(kFloat)) {
      store_float(normalize(load_float(part + i), mean, factor, shift), out + i);
    }
  }
}

// Interleaved RGB bytes to three planes, as many pixels as are whole vectors. Returns their number.
template <typename Out> int64_t split_to_planes(const NormalizeRow& row) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(kBytes));
  const bool mirrored = row.in_pixel < 0;
  const ByteVec turn = reversed_bytes();
  const FloatVec shift = hn::Set(kFloat, row.shift);
  FloatVec mean[3], factor[3];
  for (int c = 0; c < 3; ++c) {
    mean[c] = hn::Set(kFloat, row.mean[c]);
    factor[c] = hn::Set(kFloat, row.factor[c]);
  }
  const uint8_t* in = static_cast<const uint8_t*>(row.in);
  Out* out = static_cast<Out*>(row.out);
  int64_t x = 0;
  for (; x + lanes <= row.pixels; x += lanes) {
    ByteVec planes[3];
    const uint8_t* from = mirrored ? in - 3 * (x + lanes - 1) : in + 3 * x;
    hn::LoadInterleaved3(kBytes, from, planes[0], planes[1], planes[2]);
    for (int c = 0; c < 3; ++c) {
      const ByteVec plane = mirrored ? hn::TableLookupBytes(planes[c], turn) : planes[c];
      normalize_bytes(plane, mean[c], factor[c], shift, out + c * row.out_channel + x);
    }
  }
  return x;
}

// Interleaved RGB bytes to anything else, mostly planes.
template <typename Out> void split_row(const NormalizeRow& row) {
  uint8_t mirrored[3 * kChunk];
  uint8_t planes[3 * kChunk];
  NormalizeRow part = row;
  part.in_pixel = 1;
  const int64_t done = row.out_pixel == 1 ? split_to_planes<Out>(row) : 0;
  for (int64_t x = done; x < row.pixels; x += kChunk) {
    part.pixels = std::min(kChunk, row.pixels - x);
    const uint8_t* from = static_cast<const uint8_t*>(row.in) + x * row.in_pixel;
    if (row.in_pixel < 0) {
      reverse_pixels3(from, mirrored, part.pixels);
      from = mirrored;
    }
    split_pixels3(from, planes, kChunk, part.pixels);
    Out* to = static_cast<Out*>(row.out) + x * row.out_pixel;
    for (int64_t c = 0; c < 3; ++c) {
      channel_row(part, planes + c * kChunk, to + c * row.out_channel, row.mean[c], row.factor[c]);
    }
  }
}

template <typename In, typename Out> void normalize_row(const NormalizeRow& row) {
  const bool interleaved_in = row.in_channel == 1 && std::abs(row.in_pixel) == row.channels;
  const bool interleaved_out = row.out_channel == 1 && row.out_pixel == row.channels;
  if (interleaved_in && interleaved_out && row.channels > 1 && row.channels <= kMaxPeriod) {
    interleaved_row<In, Out>(row);
  } else if (std::is_same_v<In, uint8_t> && interleaved_in && row.channels == 3) {
    split_row<Out>(row);
  } else {
    for (int64_t c = 0; c < row.channels; ++c) {
      channel_row(row, static_cast<const In*>(row.in) + c * row.in_channel,
                  static_cast<Out*>(row.out) + c * row.out_channel, row.mean[c], row.factor[c]);
    }
  }
}

template <typename In> NormalizeRowFn for_output(DType out) {
  switch (out) {
    case DType::kFloat32: return normalize_row<In, float>;
    case DType::kFloat16: return normalize_row<In, Float16>;
    case DType::kUInt8: return normalize_row<In, uint8_t>;
    case DType::kInt8: return normalize_row<In, int8_t>;
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();
#endif
