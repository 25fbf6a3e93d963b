// Arrays of random numbers with SIMD: words by Philox, then numbers made of them.
#include "kernels/cpu/random_fill.h"

#include <algorithm>
#include <type_traits>

#include "core/simd_targets.h"

#define HWY_DISABLED_TARGETS HEADRACE_SKIPPED_TARGETS
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/random_fill.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kWords = 128;  // made at once
constexpr hn::ScalableTag<uint32_t> kU32;
constexpr hn::ScalableTag<uint64_t> kU64;
using VecU64 = hn::Vec<decltype(kU64)>;

// A multiplication of Philox: the low half of the product of the low halves; the high half in `high`.
HWY_INLINE VecU64 multiply(VecU64 x, uint32_t factor, VecU64& high) {
  const VecU64 product = hn::MulEven(hn::BitCast(kU32, x), hn::Set(kU32, factor));
  high = hn::ShiftRight<32>(product);
  return product;
}

// Words of the blocks from `first` on: philox() side by side, a 64-bit lane per block. Only the low halves of a, b, c,
// d count.
HWY_INLINE void make_words(const RandomStream& stream, uint32_t first, uint32_t* HWY_RESTRICT out) {
  const size_t lanes = hn::Lanes(kU64);
  const auto& counter = stream.counter();
  for (size_t i = 0; i < kWords / 4; i += lanes) {
    VecU64 a = hn::Add(hn::Set(kU64, uint64_t{first} + i), hn::Iota(kU64, 0));
    VecU64 b = hn::Set(kU64, counter[1]), c = hn::Set(kU64, counter[2]), d = hn::Set(kU64, counter[3]);
    uint32_t key0 = stream.key()[0], key1 = stream.key()[1];
    for (int round = 0; round < 10; ++round) {
      VecU64 high_a, high_c;
      const VecU64 low_a = multiply(a, 0xD2511F53u, high_a);
      const VecU64 low_c = multiply(c, 0xCD9E8D57u, high_c);
      a = hn::Xor(hn::Xor(high_c, b), hn::Set(kU64, key0));
      c = hn::Xor(hn::Xor(high_a, d), hn::Set(kU64, key1));
      b = low_c;
      d = low_a;
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    const VecU64 low_half = hn::Set(kU64, 0xffffffffu);
    const VecU64 ab = hn::Or(hn::And(a, low_half), hn::ShiftLeft<32>(b));
    const VecU64 cd = hn::Or(hn::And(c, low_half), hn::ShiftLeft<32>(d));
    hn::StoreInterleaved2(ab, cd, kU64, reinterpret_cast<uint64_t*>(out + 4 * i));
  }
}

template <class D, class V, size_t N> HWY_INLINE V horner(D d, V x, const std::array<hn::TFromD<D>, N>& coefficients) {
  V value = hn::Set(d, coefficients[0]);
  for (size_t i = 1; i < N; ++i) value = hn::Add(hn::Mul(value, x), hn::Set(d, coefficients[i]));
  return value;
}

// fixed_log() of a vector.
template <class D, class V> HWY_INLINE V log(D d, V x) {
  using M = FixedMath<hn::TFromD<D>>;
  const hn::RebindToUnsigned<D> u;
  const auto bits = hn::Add(hn::BitCast(u, x), hn::Set(u, M::kOne - M::kSqrtHalf));
  const auto exponent = hn::Or(hn::ShiftRight<M::kMantissaBits>(bits), hn::Set(u, M::kTwoToMantissa));
  const V k = hn::Sub(hn::BitCast(d, exponent), hn::Set(d, M::kExponentZero));
  const auto mantissa = hn::Add(hn::And(bits, hn::Set(u, M::kMantissa)), hn::Set(u, M::kSqrtHalf));
  const V f = hn::Sub(hn::BitCast(d, mantissa), hn::Set(d, 1));
  const V s = hn::Div(f, hn::Add(hn::Set(d, 2), f));
  const V z = hn::Mul(s, s);
  const V two_s = hn::Add(s, s);
  const V log_m = hn::Add(two_s, hn::Mul(two_s, hn::Mul(z, horner(d, z, M::kLog))));
  const V low = hn::Add(log_m, hn::Mul(k, hn::Set(d, M::kLn2Low)));
  return hn::Add(hn::Mul(k, hn::Set(d, M::kLn2High)), low);
}

// fixed_sincos_turn() of a vector.
template <class D, class V> HWY_INLINE void sincos_turn(D d, V x, V& sin, V& cos) {
  using T = hn::TFromD<D>;
  using M = FixedMath<T>;
  const hn::RebindToUnsigned<D> u;
  const V shifted = hn::Add(hn::Mul(x, hn::Set(d, 4)), hn::Set(d, M::kRound));
  const auto q = hn::BitCast(u, shifted);
  const V quarter = hn::Mul(hn::Sub(shifted, hn::Set(d, M::kRound)), hn::Set(d, T(0.25)));
  const V a = hn::Mul(hn::Sub(x, quarter), hn::Set(d, M::kTwoPi));
  const V z = hn::Mul(a, a);
  const auto sine = hn::BitCast(u, hn::Add(a, hn::Mul(a, hn::Mul(z, horner(d, z, M::kSin)))));
  const auto cosine = hn::BitCast(u, hn::Add(hn::Set(d, 1), hn::Mul(z, horner(d, z, M::kCos))));
  const auto one = hn::Set(u, 1), two = hn::Set(u, 2);
  const auto swapped = hn::Sub(hn::Zero(u), hn::And(q, one));
  const auto difference = hn::And(hn::Xor(sine, cosine), swapped);
  constexpr int kSignShift = sizeof(T) * 8 - 2;
  const auto sine_sign = hn::ShiftLeft<kSignShift>(hn::And(q, two));
  const auto cosine_sign = hn::ShiftLeft<kSignShift>(hn::And(hn::Add(q, one), two));
  sin = hn::BitCast(d, hn::Xor(hn::Xor(sine, difference), sine_sign));
  cos = hn::BitCast(d, hn::Xor(hn::Xor(cosine, difference), cosine_sign));
}

// The first n numbers of each kind from kWords words; whole vectors are written, at most kWords words.
struct Words {
  using Element = uint32_t;
  static HWY_INLINE void make(const uint32_t* words, uint32_t* out, size_t n) { std::copy(words, words + n, out); }
};

template <typename T> struct Uniform {
  using Element = T;
  static HWY_INLINE void make(const uint32_t* words, float* out, size_t n) {
    const hn::ScalableTag<float> d;
    const hn::RebindToSigned<decltype(d)> i32;
    for (size_t i = 0; i < n; i += hn::Lanes(d)) {
      const auto bits = hn::BitCast(i32, hn::ShiftRight<8>(hn::LoadU(kU32, words + i)));
      hn::StoreU(hn::Mul(hn::ConvertTo(d, bits), hn::Set(d, 0x1p-24f)), d, out + i);
    }
  }
  static HWY_INLINE void make(const uint32_t* words, double* out, size_t n) {
    const hn::ScalableTag<double> d;
    const auto* pairs = reinterpret_cast<const uint64_t*>(words);
    for (size_t i = 0; i < n; i += hn::Lanes(d)) hn::StoreU(uniform(d, hn::LoadU(kU64, pairs + i)), d, out + i);
  }
  // uniform_of() of a vector.
  template <class D> static HWY_INLINE hn::Vec<D> uniform(D d, VecU64 bits) {
    const auto mantissa = hn::Or(hn::ShiftRight<12>(bits), hn::Set(kU64, FixedMath<double>::kOne));
    return hn::Sub(hn::BitCast(d, mantissa), hn::Set(d, 1.0));
  }
};

template <typename T> struct Normal {
  using Element = T;
  static HWY_INLINE void make(const uint32_t* words, float* out, size_t n) {
    const hn::ScalableTag<float> d;
    const hn::RebindToSigned<decltype(d)> i32;
    for (size_t i = 0; i < n; i += 2 * hn::Lanes(d)) {
      hn::Vec<decltype(kU32)> a, b;
      hn::LoadInterleaved2(kU32, words + i, a, b);
      const auto whole = hn::ConvertTo(d, hn::BitCast(i32, hn::ShiftRight<1>(a)));
      const auto u = hn::Mul(hn::Add(whole, hn::Set(d, 0.5f)), hn::Set(d, 0x1p-31f));
      const auto turn = hn::Mul(hn::ConvertTo(d, hn::BitCast(i32, hn::ShiftRight<8>(b))), hn::Set(d, 0x1p-24f));
      store_pairs(d, u, turn, out + i);
    }
  }
  static HWY_INLINE void make(const uint32_t* words, double* out, size_t n) {
    const hn::ScalableTag<double> d;
    const auto* pairs = reinterpret_cast<const uint64_t*>(words);
    for (size_t i = 0; i < n; i += 2 * hn::Lanes(d)) {
      VecU64 a, b;
      hn::LoadInterleaved2(kU64, pairs + i, a, b);
      const auto u = hn::Add(Uniform<double>::uniform(d, a), hn::Set(d, 0x1p-53));
      store_pairs(d, u, Uniform<double>::uniform(d, b), out + i);
    }
  }
  template <class D, class V> static HWY_INLINE void store_pairs(D d, V u, V turn, T* out) {
    const V radius = hn::Sqrt(hn::Mul(hn::Set(d, -2), log(d, u)));
    V sin, cos;
    sincos_turn(d, turn, sin, cos);
    hn::StoreInterleaved2(hn::Mul(radius, cos), hn::Mul(radius, sin), d, out);
  }
};

template <typename Kind>
HWY_INLINE void fill(const RandomStream& stream, int64_t first, typename Kind::Element* out, int64_t count) {
  using T = typename Kind::Element;
  constexpr int kWidth = sizeof(T) / 4;  // words per element
  constexpr int kElements = kWords / kWidth;
  HWY_ALIGN uint32_t words[kWords];
  uint32_t block = static_cast<uint32_t>(first * kWidth / 4);
  for (; count >= kElements; count -= kElements, out += kElements, block += kWords / 4) {
    make_words(stream, block, words);
    Kind::make(words, out, kElements);
  }
  if (count == 0) return;
  HWY_ALIGN T values[kElements];
  std::fill(words, words + kWords, 0u);  // the tail's last vector reads more than its words
  for (int i = 0; i < static_cast<int>(count) * kWidth; i += 4) {
    const std::array<uint32_t, 4> four = stream.block(block + static_cast<uint32_t>(i / 4));
    std::copy(four.begin(), four.end(), words + i);
  }
  Kind::make(words, values, static_cast<size_t>(count));
  std::copy(values, values + count, out);
}

HWY_ATTR void fill_words(const RandomStream& stream, int64_t first, uint32_t* out, int64_t count) {
  fill<Words>(stream, first, out, count);
}
HWY_ATTR void fill_uniform_float(const RandomStream& stream, int64_t first, float* out, int64_t count) {
  fill<Uniform<float>>(stream, first, out, count);
}
HWY_ATTR void fill_uniform_double(const RandomStream& stream, int64_t first, double* out, int64_t count) {
  fill<Uniform<double>>(stream, first, out, count);
}
HWY_ATTR void fill_normal_float(const RandomStream& stream, int64_t first, float* out, int64_t count) {
  fill<Normal<float>>(stream, first, out, count);
}
HWY_ATTR void fill_normal_double(const RandomStream& stream, int64_t first, double* out, int64_t count) {
  fill<Normal<double>>(stream, first, out, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(fill_words);
HWY_EXPORT(fill_uniform_float);
HWY_EXPORT(fill_uniform_double);
HWY_EXPORT(fill_normal_float);
HWY_EXPORT(fill_normal_double);

void fill_words(const RandomStream& stream, int64_t first, uint32_t* out, int64_t count) {
  HWY_DYNAMIC_DISPATCH(fill_words)(stream, first, out, count);
}
void fill_uniform(const RandomStream& stream, int64_t first, float* out, int64_t count) {
  HWY_DYNAMIC_DISPATCH(fill_uniform_float)(stream, first, out, count);
}
void fill_uniform(const RandomStream& stream, int64_t first, double* out, int64_t count) {
  HWY_DYNAMIC_DISPATCH(fill_uniform_double)(stream, first, out, count);
}
void fill_normal(const RandomStream& stream, int64_t first, float* out, int64_t count) {
  HWY_DYNAMIC_DISPATCH(fill_normal_float)(stream, first, out, count);
}
void fill_normal(const RandomStream& stream, int64_t first, double* out, int64_t count) {
  HWY_DYNAMIC_DISPATCH(fill_normal_double)(stream, first, out, count);
}

}  // namespace headrace
#endif  // HWY_ONCE
