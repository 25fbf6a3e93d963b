// ZeroRows: on_error="zero" gives rows of zeros for the samples that an operator refused.
#pragma once

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "exec/iteration.h"

namespace headrace {

class ZeroRows {
 public:
  explicit ZeroRows(Ref<HostPool> pool) : pool_(std::move(pool)) {}

  // Fills the rows of a finished segment that are zeroed by `changes`. They get the element type, layout and shape of
  // their batch's first good sample; without one, those of the earliest batch that had one, and an Error if none had.
  // From any thread.
  void fill(PlanRun& run, const Segment& segment, const std::vector<RowChange>& changes);

 private:
  struct Pattern {
    int64_t iteration = 0;
    Sample sample;  // what it looks like; no data
  };

  bool remember(const PlanRun& run, int value);
  Sample pattern(const PlanRun& run, int value) const;

  const Ref<HostPool> pool_;
  mutable std::mutex mutex_;
  std::map<std::pair<int, int>, Pattern> patterns_;  // (plan, value) ->
};

}  // namespace headrace
