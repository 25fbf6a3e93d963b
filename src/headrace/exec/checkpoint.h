// Checkpoint: what has to be known to go on after the last delivered iteration, as JSON.
//
// Since every sample is computed from its number in the stream (exec/sampler.h) and all randomness from its identity,
// a plan's state is two numbers; the rest are the fields that must be equal, and the seeds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exec/plan.h"

namespace headrace {

// How far one plan has been delivered.
struct PlanProgress {
  int64_t iterations = 0;
  int64_t samples = 0;
};

std::string write_checkpoint(const std::vector<std::unique_ptr<Plan>>& plans,
                             const std::vector<PlanProgress>& progress);

// Puts the seeds of a checkpoint into the graphs that it was taken from. kRuntime errors name what differs. Call it
// before the plans are made.
void restore_seeds(std::string_view checkpoint, std::vector<Graph>& graphs, const Registry& registry);

// The progress that a checkpoint records. kRuntime errors name the field that differs: graph, data set size, shards.
std::vector<PlanProgress> read_checkpoint(std::string_view checkpoint, const std::vector<std::unique_ptr<Plan>>& plans);

}  // namespace headrace
