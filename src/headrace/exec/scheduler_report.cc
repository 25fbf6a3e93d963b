// What a scheduler tells of its work: sums for the statistics, and what unfinished iterations wait for.
#include "exec/scheduler.h"

namespace headrace {

std::vector<Scheduler::NodeTotals> Scheduler::node_totals(int plan) const {
  const std::lock_guard lock(mutex_);  // close() takes the frames away
  const Plan& p = *plans_[plan];
  std::vector<NodeTotals> totals(p.nodes().size());
  for (size_t s = 0; s < p.segments().size(); ++s) {
    const Segment& segment = p.segments()[s];
    if (segment.is_batch) {
      const SegmentStats& stats = stats_[plan][s];
      totals[segment.nodes[0]] = {stats.batch_samples.load(), 1e-9 * static_cast<double>(stats.batch_ns.load()),
                                  stats.batch_bytes.load()};
      continue;
    }
    for (const auto& worker : workers_) {
      if (worker->frames.empty() || !worker->frames[plan][s]) continue;
      const SampleFrame& frame = *worker->frames[plan][s];
      for (size_t i = 0; i < segment.nodes.size(); ++i) {
        const NodeCounters& counters = frame.counters(static_cast<int>(i));
        NodeTotals& total = totals[segment.nodes[i]];
        const int64_t samples = counters.samples.load();
        const auto timed = static_cast<double>(std::max<int64_t>(1, counters.timed_samples.load()));
        total.samples += samples;
        total.bytes += counters.bytes.load();
        total.seconds += 1e-9 * static_cast<double>(counters.timed_ns.load()) * static_cast<double>(samples) / timed;
      }
    }
  }
  return totals;
}

double Scheduler::worker_idle_seconds() const {
  double seconds = 0;
  for (const auto& worker : workers_) seconds += 1e-9 * static_cast<double>(worker->idle_ns.load());
  return seconds;
}

std::string Scheduler::describe_unfinished() const {
  std::lock_guard lock(mutex_);
  std::string text;
  for (const Iteration* iteration : unfinished_) {
    for (const PlanRun& run : iteration->runs) {
      for (const SegmentWork& work : run.work) {
        if (work.done >= work.size && work.waits_for == 0) continue;
        std::string nodes;
        for (int node : segment_of(work).nodes)
          nodes += (nodes.empty() ? "" : ", ") + run.plan->nodes()[node].node->name;
        text += fmt::format("iteration {}, pipeline {}: [{}] ", iteration->number, run.number, nodes);
        text += work.waits_for > 0 ? fmt::format("waits for {} stages\n", work.waits_for)
                                   : fmt::format("{} of {} tasks done, {} taken\n", work.done, work.size, work.next);
      }
    }
  }
  return text;
}

}  // namespace headrace
