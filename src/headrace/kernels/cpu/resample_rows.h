// Row kernels of resampling: weighted sums of rows, weighted sums along a row, and conversion of the result.
//
// All sums are made in float, tap by tap from the first on, each product rounded before it is added: equal on every
// target.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cpu/resample_table.h"

namespace headrace {

// Floats that filter_row and the interleaving functions may read or write beyond the end of a row.
constexpr int64_t kResampleSlack = 64;
// Rows that interleave_rows takes.
constexpr int64_t kInterleavedRows = 4;

struct ResampleRowKernels {
  // out[j] = sum over k of weights[k] * rows[k][j], for j < n. The rows are of the input's type.
  void (*blend_rows)(const void* const* rows, const float* weights, int64_t taps, float* out, int64_t n);
  // The same for rows of floats.
  void (*blend_floats)(const void* const* rows, const float* weights, int64_t taps, float* out, int64_t n);
  // Resamples a row of pixels of `channels` floats; in[0] belongs to element table.begin. Both rows have slack.
  void (*filter_row)(const float* in, const ResampleTable& table, int64_t channels, float* out);
  // The same for two rows that lie in_stride and out_stride apart.
  void (*filter_pair)(const float* in, int64_t in_stride, const ResampleTable& table, int64_t channels, float* out,
                      int64_t out_stride);
  // Converts n floats to the output's type: integers half away from zero, clamped.
  void (*store_row)(const float* in, void* out, int64_t n);
  // out[4 i + r] = in[r * stride + i], and back. All rows have slack.
  void (*interleave_rows)(const float* in, int64_t stride, float* out, int64_t n);
  void (*separate_rows)(const float* in, float* out, int64_t stride, int64_t n);
};

// The kernels for these element types: u8 u16 i16 f32 in and out. Null pointers for others.
ResampleRowKernels find_resample_kernels(DType in, DType out);

}  // namespace headrace
