// Taking several iterations at once into buffers of the caller, where the batches of each output lie one behind the
// other.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

#include "exec/executor.h"

namespace headrace {

// Where the batches of one output lie in a buffer.
struct PackedOutput {
  size_t offset = 0;  // of the first batch, in bytes
  DType dtype = DType::kNone;
  Shape shape;  // of a batch, (B, ...)

  size_t bytes() const { return static_cast<size_t>(shape.volume()) * dtype_size(dtype); }
};

struct PackedIterations {
  // For each packed iteration and each plan who its rows are; null if nobody says.
  std::vector<std::vector<Ref<BatchRows>>> rows;
  // What ended it early: an iteration of which an output looks different, or an error.
  std::optional<IterationOutputs> last;
  std::exception_ptr error;
};

// Takes up to `count` iterations and keeps `depth` under way, as far as memory_limit allows. `buffers`: for each plan
// memory that `outputs` lie in, with room for `count` batches of each. Plans may have more outputs, which are dropped.
PackedIterations take_packed(Executor& executor, int depth, int count, const std::vector<uint8_t*>& buffers,
                             const std::vector<PackedOutput>& outputs);

}  // namespace headrace
