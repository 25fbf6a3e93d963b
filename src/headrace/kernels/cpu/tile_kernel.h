// Tile kernels: elementwise loops over dense arrays of one type per operand, compiled for AVX2 and for any processor.
#pragma once

#include <cstdint>
#include <utility>

#include "core/dtype.h"

namespace headrace {

// out[i] = f(in[0][i], in[1][i], ...) for `count` elements. The arrays don't overlap.
using TileKernel = void (*)(void* out, const void* const* in, int64_t count);

using NumericTypes = TypeList<uint8_t, uint16_t, uint32_t, uint64_t, int8_t, int16_t, int32_t, int64_t, float, double>;

namespace tile_kernel_detail {

template <typename F, typename Out, typename... In>
[[gnu::always_inline]] inline void map(Out* __restrict out, int64_t count, const In*... in) {
  for (int64_t i = 0; i < count; ++i) out[i] = F{}(in[i]...);
}

template <typename F, typename Out, typename... In, size_t... I>
[[gnu::always_inline]] inline void map(void* out, const void* const* in, int64_t count, std::index_sequence<I...>) {
  map<F, Out, In...>(static_cast<Out*>(out), count, static_cast<const In*>(in[I])...);
}

template <typename F, typename Out, typename... In> void run_baseline(void* out, const void* const* in, int64_t count) {
  map<F, Out, In...>(out, in, count, std::index_sequence_for<In...>());
}

#if defined(__x86_64__)
template <typename F, typename Out, typename... In>
__attribute__((target("avx2"))) void run_avx2(void* out, const void* const* in, int64_t count) {
  map<F, Out, In...>(out, in, count, std::index_sequence_for<In...>());
}
#endif

}  // namespace tile_kernel_detail

// The kernel of F, a stateless lambda, for the processor at hand.
template <typename Out, typename... In, typename F> TileKernel vector_kernel(F) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return tile_kernel_detail::run_avx2<F, Out, In...>;
#endif
  return tile_kernel_detail::run_baseline<F, Out, In...>;
}

// The same for functions that don't vectorise, such as those of libm.
template <typename Out, typename... In, typename F> TileKernel scalar_kernel(F) {
  return tile_kernel_detail::run_baseline<F, Out, In...>;
}

}  // namespace headrace
