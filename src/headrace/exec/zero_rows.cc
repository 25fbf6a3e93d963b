// Rows of zeros in place of refused samples.
#include "exec/zero_rows.h"

#include <cstring>

namespace headrace {

void ZeroRows::fill(PlanRun& run, const Segment& segment, const std::vector<RowChange>& changes) {
  std::vector<bool> zeroed(static_cast<size_t>(run.size), false);
  for (const RowChange& change : changes) zeroed[change.slot] = change.status == RowStatus::kZeroed;
  for (int value : segment.batches_out) {
    remember(run, value, zeroed);
    for (int slot = 0; slot < run.size; ++slot) {
      if (!zeroed[slot]) continue;
      const Sample like = last_sample(run, value);
      void* data = run.batches[value]->claim(slot, like);
      if (like.bytes() > 0) std::memset(data, 0, like.bytes());
    }
  }
}

void ZeroRows::remember(const PlanRun& run, int value, const std::vector<bool>& zeroed) {
  for (int slot = 0; slot < run.size; ++slot) {
    if (zeroed[slot] || !run.batches[value]->has(slot)) continue;
    const std::lock_guard lock(mutex_);
    Sample& last = last_samples_[{run.number, value}];
    last.describe_as((*run.batches[value])[slot]);
    last.source = Source();
    return;
  }
}

Sample ZeroRows::last_sample(const PlanRun& run, int value) const {
  const std::lock_guard lock(mutex_);
  const auto found = last_samples_.find({run.number, value});
  check(found != last_samples_.end(),
        "on_error=\"zero\": no sample of the first batch is good, so the shape of the zeros is unknown");
  return found->second;
}

}  // namespace headrace
