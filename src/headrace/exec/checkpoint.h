// Checkpoint: what has to be known to go on after the last delivered iteration, as JSON.
//
// Since every sample is computed from its number in the stream (exec/sampler.h) and all randomness from its identity,
// a plan's state is two numbers; the rest are the fields that must be equal, the seeds, and what each reader has left
// of its epoch, from which the states of all ranks can be cut anew for another number of shards.
#pragma once

#include <map>
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

// Where a plan goes on.
struct PlanStart {
  PlanProgress progress;
  ReaderStarts readers;
};

std::string write_checkpoint(const std::vector<std::unique_ptr<Plan>>& plans,
                             const std::vector<PlanProgress>& progress);

// Where the graphs go on after a checkpoint, or after an array of those of all ranks; puts its seeds into them, which
// are simplified by that. A graph with the shards of one of the saved pipelines goes on exactly there; one with others
// takes its part of what all saved pipelines together have left. kRuntime errors name what differs. Call it before the
// plans are made.
std::vector<PlanStart> read_checkpoint(std::string_view checkpoint, std::vector<Graph>& graphs,
                                       const Registry& registry);

// The plans read what the checkpoint was taken from. kRuntime errors name the field that differs: size of the data set,
// order, padding.
void check_against_checkpoint(std::string_view checkpoint, const std::vector<std::unique_ptr<Plan>>& plans,
                              const std::vector<PlanStart>& starts);

}  // namespace headrace
