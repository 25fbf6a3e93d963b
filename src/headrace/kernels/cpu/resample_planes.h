// Resampling of planes: one or two neighbouring axes of a tensor, all others being repetitions.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/dtype.h"
#include "kernels/cpu/resample_table.h"

namespace headrace {

// `count` planes of rows x columns x channels, dense in C order, in and out. A table that is null leaves its axis as it
// is. With both null, elements are converted.
struct ResamplePlanes {
  const void* in = nullptr;
  DType in_type = DType::kNone;
  void* out = nullptr;
  DType out_type = DType::kNone;
  int64_t count = 1;
  int64_t rows = 1;     // of the input
  int64_t columns = 1;  // of the input
  int64_t channels = 1;
  const ResampleTable* vertical = nullptr;
  const ResampleTable* horizontal = nullptr;
};

// Resamples all planes row by row, the axis that makes the other's work smaller first.
void resample_planes(const ResamplePlanes& planes, Arena& arena);

}  // namespace headrace
