// Iteration: everything about one turn of a group: who its samples are, its batches, and how far its segments are.
#pragma once

#include <atomic>
#include <deque>
#include <optional>
#include <vector>

#include "exec/plan.h"

namespace headrace {

struct Iteration;
struct PlanRun;

// A row that did not come out as the sampler had said.
struct RowChange {
  int slot = 0;
  RowStatus status = RowStatus::kGood;
  int64_t index = 0;  // of the sample that it holds
};

// A segment of one plan in one iteration. Workers take slots [next, size) in chunks; a batch segment has one.
struct SegmentWork {
  PlanRun* run = nullptr;
  int segment = 0;
  int size = 0;
  int next = 0;
  int done = 0;
  int waits_for = 0;
  std::vector<RowChange> changes;    // added under the scheduler's mutex
  std::shared_ptr<void> dispatched;  // BatchContext::dispatched
};

// The error that take() throws: that of the lowest plan, segment and slot, so that it doesn't depend on timing.
struct IterationError {
  int plan = 0;
  int64_t place = 0;  // PlanRun::place_of()
  Error error;
};

struct PlanRun {
  Iteration* iteration = nullptr;
  const Plan* plan = nullptr;
  int number = 0;                    // of the plan in the group
  int size = 0;                      // samples
  Ref<BatchRows> rows;               // as the sampler says while segments run; take() adds their changes
  std::vector<SampleId> reader_ids;  // slot-major: [slot * readers + reader]
  std::vector<Ref<Batch>> batches;   // by value
  std::vector<SegmentWork> work;     // by segment
  int segments_left = 0;
  std::atomic<int64_t> failed_at{kNowhere};  // the lowest place of an error: all behind it is skipped

  static constexpr int64_t kNowhere = INT64_MAX;
  // Increases with segment and slot; segments come behind those that they wait for.
  int64_t place_of(int segment, int slot) const {
    const Segment& s = plan->segments()[segment];
    return (int64_t{2 * s.depth + (s.is_batch ? 1 : 0)} << 48) + (int64_t{segment} << 32) + slot;
  }
  bool has_failed() const { return failed_at != kNowhere; }
  bool is_skipped(int segment, int slot) const { return place_of(segment, slot) > failed_at; }
  // A batch for the rows, without samples.
  Ref<Batch> new_batch(const Ref<HostPool>& pool, bool expect_ragged = false) const {
    auto batch = make_ref<Batch>(pool, size, MemoryUse::kSlots, expect_ragged);
    batch->rows = rows;
    batch->keep_alive = plan->keep_alive();
    return batch;
  }
  const SampleId* reader_ids_of(int slot) const { return reader_ids.data() + slot * plan->readers().size(); }
};

struct Iteration {
  int64_t number = 0;
  std::deque<PlanRun> runs;  // by plan; a deque, so that runs stay where they are
  int runs_left = 0;
  int joint_left = 0;  // operators of Lane::kCaller that are still to be dispatched
  std::optional<IterationError> error;

  bool ready() const { return runs_left == 0; }
};

}  // namespace headrace
