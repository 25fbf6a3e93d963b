// Scheduler: who runs what next, and what happens when a sample fails.
#include "exec/scheduler.h"

#include <algorithm>

#include "core/thread.h"
#include "exec/selection.h"

namespace headrace {
namespace {

// A chunk is worth at least this much work, so that taking it (a lock, a wake-up) doesn't count.
constexpr int64_t kChunkNs = 50'000;
constexpr int kMaxSubstitutes = 16;
// Far enough for memory to answer, near enough for its bytes to be still in the cache.
constexpr int kSoon = 2, kLater = 4;

int64_t nanoseconds(Clock::duration d) { return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count(); }

bool earlier(const SegmentWork* a, const SegmentWork* b) {
  const auto key = [](const SegmentWork* w) {
    return std::tuple(w->run->iteration->number, w->run->number, w->segment);
  };
  return key(a) < key(b);
}

void insert_sorted(std::vector<SegmentWork*>& queue, SegmentWork* work) {
  queue.insert(std::upper_bound(queue.begin(), queue.end(), work, earlier), work);
}

Error describe(const PlanRun& run, int slot, const NodeFailure& failure) {
  const Node& node = *run.plan->nodes()[failure.node].node;
  std::string reason = failure.error.message() + fmt::format("\n\nSample {} of the batch", slot);
  if (!failure.source.empty()) reason += fmt::format(", read from \"{}\"", failure.source);
  return Error(failure.error.kind(), node_error_message(node, reason + "."));
}

void lower(std::atomic<int64_t>& value, int64_t to) {
  int64_t now = value;
  while (to < now && !value.compare_exchange_weak(now, to)) {
  }
}

}  // namespace

Scheduler::Scheduler(const std::vector<std::unique_ptr<Plan>>& plans, const ExecutorOptions& options,
                     Ref<HostPool> pool, Trace& trace)
    : plans_(plans), options_(options), pool_(std::move(pool)), trace_(trace), zero_rows_(pool_) {
  bool has_python = false;
  for (const auto& plan : plans_) {
    stats_.push_back(std::make_unique<SegmentStats[]>(plan->segments().size()));
    joint_segments_.emplace_back();
    for (size_t s = 0; s < plan->segments().size(); ++s) {
      const Lane lane = plan->segments()[s].lane;
      has_python = has_python || lane != Lane::kWorker;
      if (lane == Lane::kCaller) joint_segments_.back().push_back(static_cast<int>(s));
    }
  }
  for (int i = 0; i < options_.num_threads; ++i) {
    Worker& worker = *workers_.emplace_back(std::make_unique<Worker>());
    worker.number = i;
    worker.lane = "worker " + std::to_string(i);
    worker.frames.resize(plans_.size());
    for (size_t p = 0; p < plans_.size(); ++p) {
      for (const Segment& segment : plans_[p]->segments()) {
        worker.frames[p].push_back(segment.is_batch ? nullptr
                                                    : std::make_unique<SampleFrame>(*plans_[p], segment, pool_));
      }
    }
  }
  try {
    start_threads(has_python);
  } catch (const std::system_error& error) {
    close();
    fail(ErrorKind::kRuntime, "num_threads: the system cannot start {} threads: {}", options_.num_threads,
         error.what());
  }
}

void Scheduler::start_threads(bool has_python) {
  const std::vector<int> cores = allowed_cores();
  for (auto& worker : workers_) {
    const int core = options_.set_affinity && !cores.empty() ? cores[worker->number % cores.size()] : -1;
    worker->thread = std::thread([this, &worker = *worker, core] {
      name_thread("headrace-w" + std::to_string(worker.number));
      if (core >= 0) pin_thread(core);
      work(worker);
    });
  }
  if (!has_python) return;
  const std::lock_guard lock(mutex_);
  python_thread_ = std::thread([this] {
    name_thread("headrace-python");
    run_python_lane();
    const std::lock_guard ended(mutex_);
    python_running_ = false;
    python_ended_.notify_all();
  });
  python_lane_ = python_thread_.get_id();
  python_running_ = true;
}

bool Scheduler::on_python_lane() const { return std::this_thread::get_id() == python_lane_; }

void Scheduler::start(Iteration& iteration) {
  {
    std::lock_guard lock(mutex_);
    if (!iteration.ready()) unfinished_.push_back(&iteration);
    for (PlanRun& run : iteration.runs) {
      for (SegmentWork& work : run.work) {
        if (work.waits_for == 0) make_ready(work);
      }
    }
  }
  work_ready_.notify_all();
}

bool Scheduler::wait(const Iteration& iteration, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return iteration_ready_.wait_for(lock, timeout, [&] { return iteration.ready(); });
}

void Scheduler::close() { close_within(std::chrono::hours(24 * 365)); }

bool Scheduler::close_within(std::chrono::milliseconds limit) {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  work_ready_.notify_all();
  python_ready_.notify_all();
  const std::unique_lock joining(join_mutex_, limit);  // a thread can be joined once
  if (!joining.owns_lock()) return false;
  for (auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
    decltype(worker->frames) frames;  // their arenas go back to the pool
    const std::lock_guard lock(mutex_);
    frames.swap(worker->frames);
  }
  {
    std::unique_lock lock(mutex_);
    if (!python_ended_.wait_for(lock, limit, [&] { return !python_running_; })) return false;
  }
  if (python_thread_.joinable()) python_thread_.join();
  return true;
}

void Scheduler::make_ready(SegmentWork& work) {
  const Segment& segment = segment_of(work);
  switch (segment.lane) {
    case Lane::kWorker: insert_sorted(ready_, &work); break;
    case Lane::kPython:
      insert_sorted(python_queue_, &work);
      python_ready_.notify_one();
      break;
    case Lane::kCaller:
      insert_sorted(caller_queue_, &work);
      caller_ready_.notify_one();
      break;
  }
}

void Scheduler::work(Worker& worker) {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    const Chunk chunk = next_chunk();
    if (!chunk.work) {
      const auto begin = Clock::now();
      work_ready_.wait(lock);
      NodeCounters::add(worker.idle_ns, nanoseconds(Clock::now() - begin));
      continue;
    }
    lock.unlock();
    guarded(*chunk.work, [&] { run_chunk(worker, chunk); });
    lock.lock();
    chunk.work->done += chunk.end - chunk.begin;
    if (chunk.work->done < chunk.work->size) continue;
    lock.unlock();
    guarded(*chunk.work, [&] { settle_rows(worker, *chunk.work); });
    lock.lock();
    complete(*chunk.work);
  }
}

void Scheduler::run_python_lane() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    SegmentWork* work = next_python();
    if (!work) {
      python_ready_.wait(lock);
      continue;
    }
    lock.unlock();
    guarded(*work, [&] { run_batch(*work, "python"); });
    lock.lock();
    ++python_turn_[{work->run->number, work->segment}];
    work->done = work->size;
    complete(*work);
  }
}

Scheduler::Chunk Scheduler::next_chunk() {
  if (ready_.empty()) return {};
  SegmentWork& work = *ready_.front();
  const int left = work.size - work.next;
  int count = left;
  if (!segment_of(work).is_batch && options_.num_threads > 1) {
    const int64_t ns = stats_of(work).ns_per_sample.load(std::memory_order_relaxed);
    const int fair_share = std::max(1, work.size / (4 * options_.num_threads));
    const int worth_taking = ns > 0 ? static_cast<int>(kChunkNs / ns) + 1 : 1;
    count = std::min(left, std::max(std::min(fair_share, left), worth_taking));
  }
  const Chunk chunk{&work, work.next, work.next + count};
  work.next += count;
  if (work.next >= work.size) ready_.erase(ready_.begin());
  return chunk;
}

SegmentWork* Scheduler::next_python() {
  for (auto it = python_queue_.begin(); it != python_queue_.end(); ++it) {
    SegmentWork* work = *it;
    if (python_turn_[{work->run->number, work->segment}] != work->run->iteration->number) continue;
    python_queue_.erase(it);
    return work;
  }
  return nullptr;
}

void Scheduler::run_chunk(Worker& worker, const Chunk& chunk) {
  const auto begin = Clock::now();
  const bool is_batch = segment_of(*chunk.work).is_batch;
  if (is_batch) {
    run_batch(*chunk.work, worker.lane);
    return;
  }
  run_samples(worker, chunk);
  if (chunk.end > chunk.begin) {
    const int64_t ns = nanoseconds(Clock::now() - begin) / (chunk.end - chunk.begin);
    stats_of(*chunk.work).ns_per_sample.store(std::max<int64_t>(1, ns), std::memory_order_relaxed);
  }
  if (trace_.on()) {
    trace_.record(worker.lane, fmt::format("samples {}..{}", chunk.begin, chunk.end - 1), begin,
                  chunk.work->run->iteration->number);
  }
}

void Scheduler::run_samples(Worker& worker, const Chunk& chunk) {
  const PlanRun& run = *chunk.work->run;
  SampleFrame& frame = *worker.frames[run.number][chunk.work->segment];
  for (int slot = chunk.begin; slot < chunk.end && !run.is_skipped(chunk.work->segment, slot); ++slot) {
    if (closing_) {
      fail_run(*chunk.work, slot, Error(ErrorKind::kRuntime, "the pipeline is closed"));
      return;
    }
    if (slot + kLater < chunk.end)
      frame.prefetch(task_of(*chunk.work, slot + kSoon), task_of(*chunk.work, slot + kLater));
    run_slot(frame, *chunk.work, slot);
  }
}

SampleTask Scheduler::task_of(const SegmentWork& work, int slot) {
  const PlanRun& run = *work.run;
  return {slot, run.rows->ids[slot], run.reader_ids_of(slot), &run.batches};
}

bool Scheduler::can_substitute(const SegmentWork& work) const {
  // Behind a batch operator the other samples have been taken into account already.
  return !work.run->plan->readers().empty() && segment_of(work).batches_in.empty();
}

// Whether the row has a sample now, its own or a substitute.
bool Scheduler::run_slot(SampleFrame& frame, SegmentWork& work, int slot) {
  PlanRun& run = *work.run;
  SampleTask task = task_of(work, slot);
  std::vector<SampleId> substitutes;
  for (int attempt = 0;; ++attempt) {
    try {
      frame.run(task);
      if (attempt > 0) change_row(work, {slot, RowStatus::kSubstituted, task.id.index});
      return true;
    } catch (const NodeFailure& failure) {
      for (int value : segment_of(work).batches_out) run.batches[value]->forget(slot);
      const bool skip = options_.on_error == OnError::kSkip && can_substitute(work) && attempt < kMaxSubstitutes;
      if (options_.on_error == OnError::kRaise || is_fatal(failure.error.kind()) ||
          (options_.on_error == OnError::kSkip && !skip)) {
        fail_run(work, slot, describe(run, slot, failure));
        return false;
      }
      if (options_.on_error == OnError::kZero) {
        change_row(work, {slot, RowStatus::kZeroed, task.id.index});
        return false;
      }
    }
    substitutes.assign(run.reader_ids_of(slot), run.reader_ids_of(slot) + run.plan->readers().size());
    for (size_t r = 0; r < substitutes.size(); ++r) {
      substitutes[r] = run.plan->readers()[r].sampler->substitute(substitutes[r], attempt);
    }
    task.reader_ids = substitutes.data();
    task.id.index = run.plan->primary()->sampler->substitute(run.rows->ids[slot], attempt).index;
  }
}

void Scheduler::change_row(SegmentWork& work, const RowChange& change) {
  const std::lock_guard lock(mutex_);
  work.changes.push_back(change);
}

BatchContext Scheduler::batch_context(const SegmentWork& work) const {
  const PlanRun& run = *work.run;
  const PlanNode& node = run.plan->nodes()[segment_of(work).nodes[0]];
  BatchContext ctx;
  ctx.rows = run.rows;
  ctx.pool = pool_;
  ctx.iteration = run.iteration->number;
  ctx.plan = run.number;
  ctx.writable = node.writable;
  ctx.dispatched = work.dispatched;
  for (int value : node.inputs) ctx.inputs.push_back(run.batches[value]);
  for (int value : node.arguments) ctx.arguments.push_back(run.batches[value]);
  ctx.outputs.resize(static_cast<size_t>(node.num_outputs()));
  return ctx;
}

void Scheduler::run_batch(SegmentWork& work, const std::string& lane) {
  PlanRun& run = *work.run;
  const PlanNode& node = run.plan->nodes()[segment_of(work).nodes[0]];
  const auto begin = Clock::now();
  BatchContext ctx = batch_context(work);
  if (!run.is_skipped(work.segment, 0)) {
    try {
      run_batch_operator(work, node, ctx);
    } catch (...) {
      const Error error = current_error();
      fail_run(work, 0, Error(error.kind(), node_error_message(*node.node, error.message())));
    }
  }
  int64_t bytes = 0;
  for (int i = 0; i < node.num_outputs(); ++i) {
    Ref<Batch>& output = ctx.outputs[i];
    if (!output) output = run.new_batch(pool_);
    for (int slot = 0; slot < output->size(); ++slot) bytes += static_cast<int64_t>((*output)[slot].bytes());
    if (!output->rows) output->rows = run.rows;
    if (!output->keep_alive) output->keep_alive = run.plan->keep_alive();
    run.batches[node.first_output + i] = std::move(output);
  }
  // Other workers may be running the same operator for other iterations.
  stats_of(work).batch_ns.fetch_add(nanoseconds(Clock::now() - begin), std::memory_order_relaxed);
  stats_of(work).batch_samples.fetch_add(run.size, std::memory_order_relaxed);
  stats_of(work).batch_bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (trace_.on()) trace_.record(lane, node.node->name, begin, run.iteration->number);
}

// Runs the operator on the rows that no conditional leaves out; without any it is not called.
void Scheduler::run_batch_operator(const SegmentWork& work, const PlanNode& node, BatchContext& ctx) {
  const int size = work.run->size;
  const Ref<Batch> scope = node.scope >= 0 ? work.run->batches[node.scope] : nullptr;
  const std::vector<int> rows = present_rows(ctx, scope, size);
  if (rows.empty()) return;
  if (static_cast<int>(rows.size()) == size) {
    node.batch_op().run(ctx);
  } else {
    BatchContext chosen = gather_rows(ctx, rows);
    node.batch_op().run(chosen);
    ctx.outputs = std::move(chosen.outputs);
  }
  for (Ref<Batch>& output : ctx.outputs) {
    check(output && output->size() == static_cast<int>(rows.size()), "expected an output of {} samples, got {}",
          rows.size(), output ? output->size() : 0);
    if (static_cast<int>(rows.size()) != size) output = scatter_rows(*output, rows, size);
  }
}

bool Scheduler::dispatch_joint(Iteration& iteration, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  // The order is that of the graph, whatever becomes ready first: all processes must agree in it.
  const auto turn_of = [&](int plan) -> SegmentWork* {
    const std::vector<int>& segments = joint_segments_[plan];
    const int segment = segments[segments.size() - static_cast<size_t>(iteration.joint_left)];
    for (SegmentWork* work : caller_queue_) {
      if (work->run == &iteration.runs[plan] && work->segment == segment) return work;
    }
    return nullptr;
  };
  while (iteration.joint_left > 0) {
    std::vector<SegmentWork*> works;
    const bool ready = caller_ready_.wait_for(lock, timeout, [&] {
      works.clear();
      for (size_t plan = 0; plan < plans_.size(); ++plan) works.push_back(turn_of(static_cast<int>(plan)));
      return std::all_of(works.begin(), works.end(), [](SegmentWork* work) { return work != nullptr; });
    });
    if (!ready) return false;
    for (SegmentWork* work : works) caller_queue_.erase(std::find(caller_queue_.begin(), caller_queue_.end(), work));
    --iteration.joint_left;
    lock.unlock();
    dispatch(works);
    lock.lock();
    for (SegmentWork* work : works) insert_sorted(python_queue_, work);
    python_ready_.notify_one();
  }
  return true;
}

void Scheduler::dispatch(const std::vector<SegmentWork*>& works) {
  std::vector<BatchContext> contexts;
  // take() raises then; what is left of the iteration is skipped.
  const auto has_failed = [](const SegmentWork* work) { return work->run->is_skipped(work->segment, 0); };
  if (std::any_of(works.begin(), works.end(), has_failed)) {
    for (SegmentWork* work : works) lower(work->run->failed_at, work->run->place_of(work->segment, 0) - 1);
    return;
  }
  contexts.reserve(works.size());
  for (const SegmentWork* work : works) contexts.push_back(batch_context(*work));
  PlanRun& first = *works[0]->run;
  const PlanNode& node = first.plan->nodes()[segment_of(*works[0]).nodes[0]];
  const auto begin = Clock::now();
  try {
    node.batch_op().dispatch(contexts);
    for (size_t i = 0; i < works.size(); ++i) works[i]->dispatched = std::move(contexts[i].dispatched);
  } catch (...) {
    const Error error = current_error();
    const Error failure(error.kind(), node_error_message(*node.node, error.message()));
    for (SegmentWork* work : works) fail_run(*work, 0, failure);
  }
  if (trace_.on()) trace_.record("caller", node.node->name, begin, first.iteration->number);
}

// Whatever goes wrong in a thread of ours becomes the iteration's error.
template <typename Action> void Scheduler::guarded(const SegmentWork& work, Action action) {
  try {
    action();
  } catch (...) {
    fail_run(work, 0, current_error());
  }
}

void Scheduler::fail_run(const SegmentWork& work, int slot, Error error) {
  std::lock_guard lock(mutex_);
  PlanRun& run = *work.run;
  const int64_t place = run.place_of(work.segment, slot);
  lower(run.failed_at, place);
  auto& first = run.iteration->error;
  if (!first || std::pair(run.number, place) < std::pair(first->plan, first->place)) {
    first.emplace(IterationError{run.number, place, std::move(error)});
  }
}

// What can be said of refused rows only when all rows of the segment have run.
void Scheduler::settle_rows(Worker& worker, SegmentWork& work) {
  PlanRun& run = *work.run;
  const Segment& segment = segment_of(work);
  if (options_.on_error == OnError::kRaise || segment.is_batch || run.is_skipped(work.segment, work.size)) return;
  const bool disputed = std::any_of(segment.batches_out.begin(), segment.batches_out.end(),
                                    [&](int value) { return run.batches[value]->is_disputed(); });
  if (disputed) run_in_order(*worker.frames[run.number][work.segment], work);
  if (options_.on_error == OnError::kZero) zero_rows_.fill(run, segment, work.changes);
}

// A batch holds one type of samples; which rows are refused for having another must not depend on who came first.
void Scheduler::run_in_order(SampleFrame& frame, SegmentWork& work) {
  PlanRun& run = *work.run;
  work.changes.clear();
  bool any_is_good = false;
  for (int slot = 0; slot < work.size && !run.is_skipped(work.segment, slot); ++slot) {
    if (!any_is_good) {  // what was refused has no say
      for (int value : segment_of(work).batches_out) run.batches[value] = run.new_batch(pool_);
    }
    any_is_good = run_slot(frame, work, slot) || any_is_good;
  }
}

void Scheduler::complete(SegmentWork& work) {
  PlanRun& run = *work.run;
  bool woke = false;
  for (int dependent : segment_of(work).dependents) {
    if (--run.work[dependent].waits_for > 0) continue;
    make_ready(run.work[dependent]);
    woke = true;
  }
  if (woke) work_ready_.notify_all();
  if (--run.segments_left > 0) return;
  if (--run.iteration->runs_left > 0) return;
  unfinished_.erase(std::find(unfinished_.begin(), unfinished_.end(), run.iteration));
  iteration_ready_.notify_all();
}

}  // namespace headrace
