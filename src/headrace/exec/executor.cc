// Executor: iterations from their start to their delivery.
#include "exec/executor.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "core/log.h"
#include "exec/checkpoint.h"
#include "exec/report.h"
#include "exec/scheduler.h"
#include "exec/selection.h"
#include "graph/group_state.h"

namespace headrace {
namespace {

std::vector<std::unique_ptr<Plan>> make_plans(std::vector<Graph>& graphs, const Registry& registry,
                                              const std::shared_ptr<GroupState>& group, const ExecutorOptions& options,
                                              const std::vector<PlanStart>& starts) {
  std::vector<std::unique_ptr<Plan>> plans;
  for (const Graph& graph : graphs) {
    graph.validate(registry);
    plans.push_back(std::make_unique<Plan>(graph, registry, group, options.batch_size, options.primary_reader,
                                           options.exact_epochs, starts[plans.size()].readers));
    check(options.on_error != OnError::kSkip || plans.back()->fed_nodes().empty(),
          "on_error=\"skip\": a sample of an external_source has no substitute; use \"raise\" or \"zero\"");
  }
  if (!options.checkpoint.empty()) check_against_checkpoint(options.checkpoint, plans, starts);
  return plans;
}

int count_joint(const Plan& plan) {
  int count = 0;
  for (const Segment& segment : plan.segments()) count += segment.lane == Lane::kCaller ? 1 : 0;
  return count;
}

// What failed rows hold instead.
void apply_changes(PlanRun& run) {
  for (const SegmentWork& work : run.work) {
    for (const RowChange& change : work.changes) {
      run.rows->status[change.slot] = change.status;
      if (change.status == RowStatus::kSubstituted) run.rows->ids[change.slot].index = change.index;
    }
  }
}

}  // namespace

struct Executor::Impl {
  Impl(std::vector<Graph> graphs, const Registry& registry, ExecutorOptions opts)
      : options(std::move(opts)),
        pool(make_ref<HostPool>(options.memory_limit)),
        group(std::make_shared<GroupState>(pool, options.decoder_index_memory)),
        starts(options.checkpoint.empty() ? std::vector<PlanStart>(graphs.size())
                                          : read_checkpoint(options.checkpoint, graphs, registry)),
        plans(make_plans(graphs, registry, group, options, starts)),
        started_samples(plans.size(), 0),
        scheduler(std::make_unique<Scheduler>(plans, options, pool, trace)) {
    for (size_t p = 0; p < plans.size(); ++p) {
      progress.push_back(starts[p].progress);
      started_samples[p] = progress[p].samples;
      expect_ragged.emplace_back(plans[p]->num_values(), false);
    }
    joint_operators = plans.empty() ? 0 : count_joint(*plans[0]);
    for (const auto& plan : plans) {
      check(count_joint(*plan) == joint_operators,
            "the pipelines of a group must have equally many operators over several devices, got {} and {}",
            joint_operators, count_joint(*plan));
    }
  }

  void check_usable() const {
    check(!closed, "the pipeline is closed");
    check(getpid() == process, "the pipeline was built in another process (pid {}); build it after the fork", process);
  }

  const Plan& plan(int number) const {
    check(number >= 0 && number < static_cast<int>(plans.size()), "the group has {} pipelines, none of number {}",
          plans.size(), number);
    return *plans[number];
  }
  void check_fed() const;
  void take_feeds(PlanRun& run);
  void check_feeds(const PlanRun& run) const;
  void name_samples(PlanRun& run);
  void make_batches(PlanRun& run);
  void make_run(Iteration& iteration, int plan);
  size_t learn(const PlanRun& run);
  void add_waiting(Clock::time_point since);
  void add_progress(const Iteration& iteration);
  void report_stall();
  void enter();
  void leave() noexcept;
  void end();
  void give_back() noexcept;

  const ExecutorOptions options;
  const Ref<HostPool> pool;
  const std::shared_ptr<GroupState> group;
  const pid_t process = getpid();
  Trace trace;
  const std::vector<PlanStart> starts;
  std::vector<std::unique_ptr<Plan>> plans;
  std::vector<int64_t> started_samples;                                      // by plan
  std::vector<std::vector<bool>> expect_ragged;                              // [plan][value]: the last batch was ragged
  std::map<std::pair<int, int>, std::deque<std::vector<Ref<Batch>>>> feeds;  // (plan, node) -> waiting
  std::deque<Iteration> window;                                              // started, not taken
  int joint_operators = 0;                                                   // of Lane::kCaller, in each plan
  std::atomic<int64_t> started = 0;
  std::atomic<int64_t> delivered = 0;
  size_t iteration_bytes = 0;          // of the largest iteration so far
  mutable std::mutex told_mutex;       // of what other threads may ask for meanwhile:
  std::vector<PlanProgress> progress;  // delivered, by plan
  ConsumerTimes times;
  Clock::time_point waiting_since = Clock::now();
  bool stall_reported = false;
  std::atomic<bool> closed = false;
  std::mutex users_mutex;
  int users = 0;                         // methods under way that use what give_back() takes
  bool ended = false;                    // the threads are gone
  std::unique_ptr<Scheduler> scheduler;  // last: its threads use the rest
};

// Note [closing from outside]: close() may come on another thread, at any moment of a method. It ends the threads; the
// batches and feeds are given back by it or, where a method is using them, behind that method.
class Executor::Use {
 public:
  explicit Use(Impl& impl) : impl_(impl) { impl_.enter(); }
  ~Use() { impl_.leave(); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  Impl& impl_;
};

Executor::Executor(std::vector<Graph> graphs, const Registry& registry, ExecutorOptions options)
    : impl_(std::make_shared<Impl>(std::move(graphs), registry, std::move(options))) {}

Executor::~Executor() { close(); }

void Executor::feed(int plan, std::string_view node, std::vector<Ref<Batch>> outputs) {
  const Use use(*impl_);
  const Plan& p = impl_->plan(plan);
  const int number = p.graph().find(node);
  if (number < 0) return;
  check_internal(p.nodes()[number].kind == NodeKind::kFed, "feed: \"{}\" is no external_source", node);
  check_value(static_cast<int>(outputs.size()) == p.nodes()[number].num_outputs(),
              "[external_source] \"{}\": expected {} outputs, got {}", node, p.nodes()[number].num_outputs(),
              outputs.size());
  impl_->feeds[{plan, number}].push_back(std::move(outputs));
}

int Executor::feeds_waiting(int plan, std::string_view node) const {
  const Use use(*impl_);
  const int number = impl_->plan(plan).graph().find(node);
  const auto it = impl_->feeds.find({plan, number});
  return it == impl_->feeds.end() ? 0 : static_cast<int>(it->second.size());
}

void Executor::Impl::check_fed() const {
  for (size_t p = 0; p < plans.size(); ++p) {
    for (int number : plans[p]->fed_nodes()) {
      const auto queue = feeds.find({static_cast<int>(p), number});
      check(queue != feeds.end() && !queue->second.empty(), "no data was fed to the external_source \"{}\"",
            plans[p]->nodes()[number].node->name);
    }
  }
}

// Moves the feeds into the run's batches. The first source says how many samples the iteration has.
void Executor::Impl::take_feeds(PlanRun& run) {
  for (int number : run.plan->fed_nodes()) {
    const PlanNode& node = run.plan->nodes()[number];
    auto& queue = feeds[{run.number, number}];
    for (int i = 0; i < node.num_outputs(); ++i) run.batches[node.first_output + i] = std::move(queue.front()[i]);
    queue.pop_front();
  }
  run.size = options.batch_size;
  if (run.plan->fed_nodes().empty()) return;
  const PlanNode& first = run.plan->nodes()[run.plan->fed_nodes()[0]];
  run.size = std::min(options.batch_size, run.batches[first.first_output]->size());
}

void Executor::Impl::check_feeds(const PlanRun& run) const {
  for (int number : run.plan->fed_nodes()) {
    const PlanNode& node = run.plan->nodes()[number];
    for (int i = 0; i < node.num_outputs(); ++i) {
      const int size = run.batches[node.first_output + i]->size();
      check(size <= options.batch_size, "[external_source] \"{}\": a batch of {} samples exceeds batch_size {}",
            node.node->name, size, options.batch_size);
      check(size == run.size,
            "[external_source] \"{}\": expected a batch of {} samples, as the other sources gave, got {}",
            node.node->name, run.size, size);
    }
  }
}

void Executor::Impl::name_samples(PlanRun& run) {
  const auto& readers = run.plan->readers();
  const int64_t first = started_samples[run.number];
  run.rows = make_ref<BatchRows>();
  run.rows->ids.resize(static_cast<size_t>(run.size));
  run.rows->status.assign(static_cast<size_t>(run.size), RowStatus::kGood);
  run.reader_ids.resize(static_cast<size_t>(run.size) * readers.size());
  std::vector<SampleId> ids(static_cast<size_t>(run.size));
  for (size_t r = 0; r < readers.size(); ++r) {
    readers[r].sampler->fill(first, ids);
    for (int slot = 0; slot < run.size; ++slot) run.reader_ids[slot * readers.size() + r] = ids[slot];
    if (&readers[r] != run.plan->primary()) continue;
    run.rows->ids = ids;
    for (int slot = 0; slot < run.size; ++slot) {
      if (readers[r].sampler->is_padding(ids[slot])) run.rows->status[slot] = RowStatus::kPadded;
    }
  }
  if (!readers.empty()) return;
  // Without a reader a sample is named by its place in the group's stream.
  int64_t position = std::accumulate(started_samples.begin(), started_samples.end(), int64_t{0});
  for (int plan = 0; plan < run.number; ++plan) position += run.iteration->runs[plan].size;
  for (SampleId& id : run.rows->ids) {
    id = {0, position, position};
    ++position;
  }
}

void Executor::Impl::make_batches(PlanRun& run) {
  for (const Segment& segment : run.plan->segments()) {
    if (segment.is_batch) continue;
    for (int value : segment.batches_out) run.batches[value] = run.new_batch(pool, expect_ragged[run.number][value]);
  }
}

void Executor::Impl::make_run(Iteration& iteration, int number) {
  PlanRun& run = iteration.runs.emplace_back();
  run.iteration = &iteration;
  run.plan = plans[number].get();
  run.number = number;
  run.batches.resize(static_cast<size_t>(run.plan->num_values()));
  take_feeds(run);
  name_samples(run);
  try {
    check_feeds(run);
  } catch (const Error& error) {  // take() throws it when it is this iteration's turn
    run.failed_at = -1;
    if (!iteration.error) iteration.error.emplace(IterationError{number, run.failed_at, error});
  }
  make_batches(run);
  for (size_t s = 0; s < run.plan->segments().size(); ++s) {
    const Segment& segment = run.plan->segments()[s];
    SegmentWork& work = run.work.emplace_back();
    work.run = &run;
    work.segment = static_cast<int>(s);
    work.size = segment.is_batch ? 1 : run.size;
    work.waits_for = segment.waits_for;
  }
  run.segments_left = static_cast<int>(run.work.size());
}

void Executor::start() {
  Impl& impl = *impl_;
  const Use use(impl);
  impl.check_fed();
  Iteration& iteration = impl.window.emplace_back();
  try {
    iteration.number = impl.started;
    for (size_t p = 0; p < impl.plans.size(); ++p) impl.make_run(iteration, static_cast<int>(p));
  } catch (...) {
    impl.window.pop_back();
    throw;
  }
  for (PlanRun& run : iteration.runs) {
    impl.started_samples[run.number] += run.size;
    if (run.segments_left > 0) ++iteration.runs_left;
  }
  iteration.joint_left = impl.joint_operators;
  ++impl.started;
  impl.scheduler->start(iteration);
}

bool Executor::has_joint_operators() const { return impl_->joint_operators > 0; }

bool Executor::dispatch_joint(std::chrono::milliseconds timeout) {
  const Use use(*impl_);
  for (Iteration& iteration : impl_->window) {
    if (iteration.joint_left > 0) return impl_->scheduler->dispatch_joint(iteration, timeout);
  }
  return true;
}

int64_t Executor::dispatched() const {
  int64_t count = impl_->delivered;
  for (const Iteration& iteration : impl_->window) count += iteration.joint_left == 0 ? 1 : 0;
  return count;
}

int64_t Executor::started() const { return impl_->started; }
int64_t Executor::delivered() const { return impl_->delivered; }

bool Executor::room_to_start() const {
  const Impl& impl = *impl_;
  if (impl.options.memory_limit == 0 || impl.window.empty()) return true;
  if (impl.iteration_bytes == 0) return false;  // nothing is known yet
  // Unfinished iterations may not have taken their memory yet.
  size_t to_come = 1;
  for (const Iteration& iteration : impl.window) {
    to_come += impl.scheduler->wait(iteration, std::chrono::milliseconds(0)) ? 0 : 1;
  }
  return impl.pool->bytes_in_use() + to_come * impl.iteration_bytes <= impl.options.memory_limit;
}

bool Executor::wait(std::chrono::milliseconds timeout) {
  Impl& impl = *impl_;
  impl.check_usable();
  check(!impl.window.empty(), "no iteration was started");
  const auto begin = Clock::now();
  const bool ready = impl.scheduler->wait(impl.window.front(), timeout);
  impl.add_waiting(begin);
  if (!ready) impl.report_stall();
  return ready;
}

void Executor::Impl::report_stall() {
  const double seconds = std::chrono::duration<double>(Clock::now() - waiting_since).count();
  if (options.stall_report_seconds <= 0 || stall_reported || seconds < options.stall_report_seconds) return;
  stall_reported = true;
  log(LogLevel::kWarning,
      fmt::format("no batch for {:.0f} s. Unfinished:\n{}", seconds, scheduler->describe_unfinished()));
}

// Remembers what the next iteration of this plan is likely to look like; returns the bytes of this one's batches.
size_t Executor::Impl::learn(const PlanRun& run) {
  size_t bytes = 0;
  const auto count = [&](const Ref<Batch>& batch) {
    for (int slot = 0; batch && slot < batch->size(); ++slot) bytes += (*batch)[slot].bytes();
  };
  for (int node : run.plan->fed_nodes()) {
    const PlanNode& fed = run.plan->nodes()[node];
    for (int i = 0; i < fed.num_outputs(); ++i) count(run.batches[fed.first_output + i]);
  }
  for (const Segment& segment : run.plan->segments()) {
    for (int value : segment.batches_out) {
      const Ref<Batch>& batch = run.batches[value];
      count(batch);
      if (!segment.is_batch) expect_ragged[run.number][value] = !batch->is_uniform();
    }
  }
  return bytes;
}

void Executor::Impl::add_waiting(Clock::time_point since) {
  const std::lock_guard lock(told_mutex);
  times.waited += Clock::now() - since;
}

void Executor::Impl::add_progress(const Iteration& iteration) {
  const std::lock_guard lock(told_mutex);
  for (const PlanRun& run : iteration.runs) {
    progress[run.number].iterations += 1;
    progress[run.number].samples += run.size;
  }
}

IterationOutputs Executor::take() {
  Impl& impl = *impl_;
  const Use use(impl);
  check(!impl.window.empty(), "no iteration was started");
  const auto begin = Clock::now();
  Iteration& iteration = impl.window.front();
  while (!impl.scheduler->wait(iteration, std::chrono::milliseconds(50))) {
    impl.check_usable();
    impl.report_stall();
  }
  impl.add_waiting(begin);
  if (impl.trace.on()) impl.trace.record("consumer", "wait", begin, iteration.number);
  impl.group->log_notes();

  IterationOutputs outputs(impl.plans.size());
  impl.add_progress(iteration);
  size_t bytes = 0;
  for (PlanRun& run : iteration.runs) {
    if (run.has_failed()) continue;
    apply_changes(run);
    bytes += impl.learn(run);
    for (int value : run.plan->outputs()) outputs[run.number].push_back(without_absent(run.batches[value]));
  }
  impl.iteration_bytes = std::max(impl.iteration_bytes, bytes + bytes / 4);  // the pool rounds up by at most a quarter
  std::optional<IterationError> error = std::move(iteration.error);
  impl.window.pop_front();
  ++impl.delivered;
  impl.waiting_since = Clock::now();
  impl.stall_reported = false;
  if (error) throw error->error;
  for (auto& plan_outputs : outputs) {
    for (auto& batch : plan_outputs) batch->mark_held();
  }
  return outputs;
}

std::vector<std::string> Executor::reader_names(int plan) const {
  std::vector<std::string> names;
  for (const PlanReader& reader : impl_->plan(plan).readers()) names.push_back(reader.name);
  return names;
}

ReaderMeta Executor::reader_meta(int plan, std::string_view reader) const {
  return impl_->plan(plan).reader(reader).sampler->meta();
}

std::string Executor::checkpoint(int64_t held) const {
  std::vector<PlanProgress> progress;
  {
    const std::lock_guard lock(impl_->told_mutex);
    progress = impl_->progress;
  }
  for (PlanProgress& plan : progress) {
    plan.iterations -= held;
    plan.samples -= held * impl_->options.batch_size;
    check_internal(held >= 0 && plan.samples >= 0, "checkpoint: {} iterations cannot be held", held);
  }
  return write_checkpoint(impl_->plans, progress);
}

std::string Executor::statistics() const {
  ConsumerTimes times;
  {
    const std::lock_guard lock(impl_->told_mutex);
    times = impl_->times;
  }
  return statistics_json({.plans = impl_->plans,
                          .scheduler = *impl_->scheduler,
                          .pool = *impl_->pool,
                          .times = times,
                          .started = impl_->started,
                          .delivered = impl_->delivered,
                          .num_threads = impl_->options.num_threads});
}

void Executor::set_tracing(bool on) { impl_->trace.set_on(on); }
std::string Executor::trace() const { return impl_->trace.json(); }
const Graph& Executor::graph(int plan) const { return impl_->plan(plan).graph(); }
const Ref<HostPool>& Executor::pool() const { return impl_->pool; }

bool Executor::close_within(std::chrono::milliseconds limit) {
  if (!impl_->scheduler->close_within(limit)) return false;
  close();
  return true;
}

void Executor::close() {
  if (impl_->closed.exchange(true)) return;
  if (impl_->scheduler->on_python_lane()) {
    std::thread([impl = impl_] { impl->end(); }).detach();
  } else {
    impl_->end();
  }
}

void Executor::Impl::enter() {
  const std::lock_guard lock(users_mutex);
  check_usable();
  ++users;
}

void Executor::Impl::leave() noexcept {
  {
    const std::lock_guard lock(users_mutex);
    if (--users > 0 || !ended) return;
  }
  give_back();
}

void Executor::Impl::end() {
  scheduler->close();
  {
    const std::lock_guard lock(users_mutex);
    ended = true;
    if (users > 0) return;
  }
  give_back();
}

void Executor::Impl::give_back() noexcept {
  // The iterations themselves stay: another thread may be waiting for one.
  for (Iteration& iteration : window) {
    for (PlanRun& run : iteration.runs) std::fill(run.batches.begin(), run.batches.end(), nullptr);
  }
  feeds.clear();
  group->close();
  pool->close();
}

}  // namespace headrace
