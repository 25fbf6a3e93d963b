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
  // Fills the rows of a finished segment that are zeroed by `changes`. They get the element type, layout and shape of
  // the last good sample of their output; an Error if there was none yet. From any thread.
  void fill(PlanRun& run, const Segment& segment, const std::vector<RowChange>& changes);

 private:
  void remember(const PlanRun& run, int value, const std::vector<bool>& zeroed);
  Sample last_sample(const PlanRun& run, int value) const;

  mutable std::mutex mutex_;
  std::map<std::pair<int, int>, Sample> last_samples_;  // (plan, value) -> what its samples look like
};

}  // namespace headrace
