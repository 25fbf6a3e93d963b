// Normalising rows of pixels: (in - mean[c]) * factor[c] + shift in float, then conversion to the output's type.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace headrace {

// A row of pixels in memory, with any order of channels and pixels. Strides count elements and may be negative (a
// mirrored row starts at its last pixel).
struct NormalizeRow {
  const void* in = nullptr;
  void* out = nullptr;
  int64_t pixels = 0;
  int64_t channels = 1;
  int64_t in_pixel = 1;
  int64_t in_channel = 1;
  int64_t out_pixel = 1;
  int64_t out_channel = 1;
  const float* mean = nullptr;    // one for each channel
  const float* factor = nullptr;  // one for each channel
  float shift = 0;
};

using NormalizeRowFn = void (*)(const NormalizeRow& row);

// The function for these element types: in u8 u16 i16 i32 f16 f32, out f32 f16 u8 i8. Null for others. Integers are
// rounded half away from zero and clamped, NaN gives 0; f16 rounds to nearest even. Equal on every target.
NormalizeRowFn find_normalize_row(DType in, DType out);

}  // namespace headrace
