// Selection: the rows of a batch that a batch operator in a branch works on, gathered before and scattered after it.
#pragma once

#include <vector>

#include "graph/operator.h"

namespace headrace {

// The slots of 0 .. size-1 for which all inputs and arguments, and `scope` if it is not null, have a sample.
std::vector<int> present_rows(const BatchContext& ctx, const Ref<Batch>& scope, int size);

// The context for the chosen rows alone: batches and rows of that many samples. Shares the memory.
BatchContext gather_rows(const BatchContext& ctx, const std::vector<int>& rows);

// A batch of `size` samples in which those of `batch` stand at `rows`; the others are absent. Shares the memory.
Ref<Batch> scatter_rows(const Batch& batch, const std::vector<int>& rows, int size);

// The batch itself if it has all samples, else one of those that are there: what an output of one branch gives.
Ref<Batch> without_absent(const Ref<Batch>& batch);

}  // namespace headrace
