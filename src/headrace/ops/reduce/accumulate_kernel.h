// The loop of accumulate() for one type and one way of accumulating, compiled for AVX2 and for any processor.
#pragma once

#include <cstdint>

#include "ops/reduce/accumulate.h"

namespace headrace {

// A number of blocks, each of `rows` rows of `width` elements that lie one behind the other; the rows of a block are
// added to `width` accumulators.
struct RowBlocks {
  int64_t blocks = 1;
  int64_t block_stride = 0;        // in elements of the input
  int64_t accumulator_stride = 0;  // in accumulators
  int64_t rows = 1;
  int64_t width = 1;
};

// `means` is null or lies like the accumulators.
using AccumulateKernel = void (*)(const void* in, const RowBlocks& shape, const float* means, void* accumulators);

// Null for another reduction.
AccumulateKernel sum_kernel(Reduction reduction, DType input);
AccumulateKernel square_kernel(Reduction reduction, DType input);
AccumulateKernel extreme_kernel(Reduction reduction, DType input);

namespace accumulate_detail {

// Add has a static function add(Acc, T, float mean) -> Acc.
template <typename Add, typename T, typename Acc>
[[gnu::always_inline]] inline void add_rows(const void* in, const RowBlocks& shape, const float* means,
                                            void* accumulators) {
  const int64_t width = shape.width;
  for (int64_t block = 0; block < shape.blocks; ++block) {
    const T* row = static_cast<const T*>(in) + block * shape.block_stride;
    Acc* __restrict acc = static_cast<Acc*>(accumulators) + block * shape.accumulator_stride;
    const float* mean = Add::kUsesMean ? means + block * shape.accumulator_stride : nullptr;
    for (int64_t r = 0; r < shape.rows; ++r, row += width) {
      for (int64_t i = 0; i < width; ++i) acc[i] = Add::add(acc[i], row[i], Add::kUsesMean ? mean[i] : 0.0f);
    }
  }
}

template <typename Add, typename T, typename Acc>
void add_rows_baseline(const void* in, const RowBlocks& shape, const float* means, void* accumulators) {
  add_rows<Add, T, Acc>(in, shape, means, accumulators);
}

#if defined(__x86_64__)
template <typename Add, typename T, typename Acc>
__attribute__((target("avx2"))) void add_rows_avx2(const void* in, const RowBlocks& shape, const float* means,
                                                   void* accumulators) {
  add_rows<Add, T, Acc>(in, shape, means, accumulators);
}
#endif

}  // namespace accumulate_detail

template <typename Add, typename T, typename Acc> AccumulateKernel rows_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return accumulate_detail::add_rows_avx2<Add, T, Acc>;
#endif
  return accumulate_detail::add_rows_baseline<Add, T, Acc>;
}

}  // namespace headrace
