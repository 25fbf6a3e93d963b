// Scheduler: the worker pool and the Python lane of an executor. It runs iterations that were started, earliest first.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "exec/executor.h"
#include "exec/iteration.h"
#include "exec/sample_frame.h"
#include "exec/trace.h"
#include "exec/zero_rows.h"

namespace headrace {

class Scheduler {
 public:
  Scheduler(const std::vector<std::unique_ptr<Plan>>& plans, const ExecutorOptions& options, Ref<HostPool> pool,
            Trace& trace);
  ~Scheduler() { close(); }

  // Queues the segments of an iteration; it stays the caller's and must live until it is ready.
  void start(Iteration& iteration);
  // True when the iteration is ready within the time.
  bool wait(const Iteration& iteration, std::chrono::milliseconds timeout);
  // Dispatches the iteration's operators of Lane::kCaller, in order, each when its inputs are ready in all plans. False
  // if they are not within the time; call again then.
  bool dispatch_joint(Iteration& iteration, std::chrono::milliseconds timeout);
  // Ends all threads after their present sample or function. Idempotent, also by two threads at a time.
  void close();
  // The same, but waits at most so long for a function of the program. False if it is still running: the scheduler must
  // not be destroyed then.
  bool close_within(std::chrono::milliseconds limit);

  // The caller is a function of the program that the Python lane runs.
  bool on_python_lane() const;

  // Sums over the workers, per node of a plan.
  struct NodeTotals {
    int64_t samples = 0;
    double seconds = 0;  // extrapolated from one task in 64; batch operators: measured
    int64_t bytes = 0;
  };
  std::vector<NodeTotals> node_totals(int plan) const;
  double worker_idle_seconds() const;
  // What each unfinished iteration waits for, a line each.
  std::string describe_unfinished() const;

 private:
  struct Worker {
    int number = 0;
    std::string lane;
    // [plan][segment]; null for batch segments.
    std::vector<std::vector<std::unique_ptr<SampleFrame>>> frames;
    std::atomic<int64_t> idle_ns{0};
    std::thread thread;
  };
  struct Chunk {
    SegmentWork* work = nullptr;
    int begin = 0;
    int end = 0;
  };
  // What is learned about a segment while it runs.
  struct SegmentStats {
    std::atomic<int64_t> ns_per_sample{0};
    std::atomic<int64_t> batch_ns{0};
    std::atomic<int64_t> batch_samples{0};
    std::atomic<int64_t> batch_bytes{0};
  };

  void start_threads(bool has_python);
  void work(Worker& worker);
  void run_python_lane();
  Chunk next_chunk();
  SegmentWork* next_python();
  void make_ready(SegmentWork& work);
  void run_chunk(Worker& worker, const Chunk& chunk);
  void run_samples(Worker& worker, const Chunk& chunk);
  bool run_slot(SampleFrame& frame, SegmentWork& work, int slot);
  BatchContext batch_context(const SegmentWork& work) const;
  void run_batch(SegmentWork& work, const std::string& lane);
  void run_batch_operator(const SegmentWork& work, const PlanNode& node, BatchContext& ctx);
  void dispatch(const std::vector<SegmentWork*>& works);
  void settle_rows(Worker& worker, SegmentWork& work);
  void run_in_order(SampleFrame& frame, SegmentWork& work);
  void complete(SegmentWork& work);
  void change_row(SegmentWork& work, const RowChange& change);
  template <typename Action> void guarded(const SegmentWork& work, Action action);
  void fail_run(const SegmentWork& work, int slot, Error error);
  static SampleTask task_of(const SegmentWork& work, int slot);
  bool can_substitute(const SegmentWork& work) const;
  const Segment& segment_of(const SegmentWork& work) const { return work.run->plan->segments()[work.segment]; }
  SegmentStats& stats_of(const SegmentWork& work) const { return stats_[work.run->number][work.segment]; }

  const std::vector<std::unique_ptr<Plan>>& plans_;
  const ExecutorOptions options_;
  const Ref<HostPool> pool_;
  Trace& trace_;

  std::timed_mutex join_mutex_;
  mutable std::mutex mutex_;
  std::condition_variable work_ready_;
  std::condition_variable python_ready_;
  std::condition_variable caller_ready_;
  std::condition_variable iteration_ready_;
  std::atomic<bool> closing_ = false;
  std::vector<SegmentWork*> ready_;                     // sorted by (iteration, plan, segment)
  std::vector<SegmentWork*> python_queue_;              // the same
  std::vector<SegmentWork*> caller_queue_;              // the same
  std::map<std::pair<int, int>, int64_t> python_turn_;  // (plan, segment) -> the iteration that it runs next
  std::vector<Iteration*> unfinished_;
  ZeroRows zero_rows_;
  std::vector<std::unique_ptr<SegmentStats[]>> stats_;  // [plan][segment]
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::vector<int>> joint_segments_;  // by plan: of Lane::kCaller, in the order of the graph
  std::condition_variable python_ended_;
  bool python_running_ = false;
  std::thread python_thread_;
  std::thread::id python_lane_;  // of that thread, also after its end
};

}  // namespace headrace
