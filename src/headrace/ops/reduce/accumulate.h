// Accumulation over axes: sums, sums of squares and extremes of a tensor, one for each position of the axes kept.
#pragma once

#include "core/arena.h"
#include "ops/reduce/axes.h"

namespace headrace {

enum class Reduction {
  kSum,                // of floats: double; of integers: uint64 or int64, wrapping
  kRealSum,            // double
  kSquares,            // of the values: double
  kSquaredDeviations,  // from the mean: double
  kMin,                // NaN is passed over; type of the input
  kMax,
};

// Integers of any width and float.
using ReducibleTypes = TypeList<uint8_t, uint16_t, uint32_t, uint64_t, int8_t, int16_t, int32_t, int64_t, float>;

// The type of the accumulators for inputs of type `input`.
DType accumulator_type(Reduction reduction, DType input);

// Sets `count` accumulators to what nothing was added to: 0, for extremes the far end of the type (infinite for
// floats).
void clear_accumulators(Reduction reduction, DType input, int64_t count, void* accumulators);
// Memory for `count` accumulators, cleared.
void* make_accumulators(Reduction reduction, DType input, int64_t count, Arena& arena);

// Adds the elements of `in` (a type of ReducibleTypes) to the accumulators, which lie in the order of kept_shape().
// `means`, for kSquaredDeviations only: one value for each accumulator. The order of additions depends on the shape
// alone, so results are equal on every processor.
void accumulate(Reduction reduction, const Sample& in, AxisSet reduced, const float* means, void* accumulators,
                Arena& arena);

}  // namespace headrace
