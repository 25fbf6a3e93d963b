// SampleFrame: one worker's place for taking samples through a sample segment, one at a time.
//
// Note [passes]: a task first infers all types and shapes, and computes what they depend on (eager nodes); then, users
// before producers, it decides where each result goes, so that the last operator before a batch slot writes straight
// into it, and which part of it is needed, so that a decoder decodes what a crop behind it keeps; then it runs the
// rest.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "core/arena.h"
#include "exec/plan.h"

namespace headrace {

// Written by one worker, read by statistics(): relaxed atomics without read-modify-write.
struct NodeCounters {
  std::atomic<int64_t> samples{0};
  std::atomic<int64_t> timed_samples{0};
  std::atomic<int64_t> timed_ns{0};
  std::atomic<int64_t> bytes{0};

  static void add(std::atomic<int64_t>& counter, int64_t value) {
    counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }
};

// What a task needs to know of its iteration.
struct SampleTask {
  int slot = 0;
  SampleId id;                                       // the key of randomness
  const SampleId* reader_ids = nullptr;              // one per reader of the plan, this slot's
  const std::vector<Ref<Batch>>* batches = nullptr;  // by value: those read from, and those written to

  const SampleId& id_for(const PlanNode& node) const { return node.reader >= 0 ? reader_ids[node.reader] : id; }
};

// Thrown out of run(): the reason and the node, so that the message can name them.
struct NodeFailure {
  int node = -1;
  Error error;
  std::string source;
};

class SampleFrame {
 public:
  SampleFrame(const Plan& plan, const Segment& segment, Ref<HostPool> pool);

  // Tells the operators of samples that will be run: see SampleOperator::prefetch().
  void prefetch(const SampleTask& soon, const SampleTask& later) const;
  // Takes one sample through the segment. Throws NodeFailure.
  void run(const SampleTask& task);

  const std::vector<int>& nodes() const { return segment_.nodes; }
  const NodeCounters& counters(int i) const { return counters_[i]; }

 private:
  struct Step {
    const PlanNode* node = nullptr;
    int number = 0;  // in the plan
    bool is_view = false;
    bool needed = true;    // somebody reads its values, not just their shapes
    bool present = false;  // no conditional leaves it out for this sample
    bool done = false;
    SampleContext ctx;
    std::vector<std::vector<Layout>> layouts;  // by input: those that the schema allows
    std::vector<Sample> relabelled;            // by input: the same sample with the layout that it lacked
  };

  void make_step(int number);
  void start(const SampleTask& task);
  bool is_present(const Step& step) const;
  void infer(Step& step);
  void choose_layouts(Step& step);
  void route(const SampleTask& task);
  void ask_inputs(const Step& step);
  void ask(int value, const std::optional<Region>& region);
  void find_needed_steps();
  void promise_slots(const Step& step, const SampleTask& task);
  void finish(Step& step);
  void finish_view(Step& step);
  void compute(Step& step);
  void* claim(int value, const SampleTask& task) { return (*task.batches)[value]->claim(task.slot, values_[value]); }
  std::string source_of(const Step& step, const SampleTask& task) const;
  template <typename Action> void guarded(Step& step, const SampleTask& task, Action action);

  const Plan& plan_;
  const Segment& segment_;
  Arena arena_;
  std::vector<Sample> values_;  // by value; only this segment's and its inputs are used
  std::vector<bool> leaves_;    // by value: goes into a batch
  std::vector<int> users_;      // by value: uses inside the segment
  std::vector<void*> slots_;    // by value: memory that was promised to it in this task
  // By value: what its users in this segment ask of it.
  enum class Ask : uint8_t { kNothing, kRegion, kAll };
  std::vector<Ask> asked_;
  std::vector<Region> regions_;
  bool has_regions_ = false;  // some operator can write a region
  std::vector<Step> steps_;
  std::unique_ptr<NodeCounters[]> counters_;  // by step
  int64_t tasks_ = 0;
  bool timed_ = false;
};

}  // namespace headrace
