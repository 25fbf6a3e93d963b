// Executor: runs a group of plans, one for each local device or shard, with one worker pool and one prefetch window.
//
// Note [one executor]: a lone pipeline is a group of one. Iteration k of all plans is started together. Per-sample
// operators run in tasks of one sample each (exec/sample_frame.h); batch operators run when their inputs are complete,
// those that call Python on a thread of their own, in iteration order. Results come out in order.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/batch.h"
#include "exec/reader_meta.h"
#include "graph/graph.h"

namespace headrace {

// What to do with a sample that an operator refuses.
enum class OnError { kRaise, kSkip, kZero };

struct ExecutorOptions {
  int batch_size = 1;
  int num_threads = 1;
  size_t memory_limit = 0;           // bytes; 0: none
  int64_t decoder_index_memory = 0;  // bytes; 0: no indexes
  OnError on_error = OnError::kRaise;
  std::string primary_reader;  // instance name of the reader whose positions key the random numbers; "": the first
  bool exact_epochs = false;   // all readers pad their epochs to whole batches (pad_last_batch); padding is flagged
  bool set_affinity = false;   // pin each worker to a core
  // JSON of checkpoint(), or an array of those of all processes: go on there; "": from the start. See
  // read_checkpoint().
  std::string checkpoint;
  double stall_report_seconds = 30;  // after so long without a batch, who waits for whom is logged; 0: never
};

// Outputs of one iteration: [plan][output].
using IterationOutputs = std::vector<std::vector<Ref<Batch>>>;

// Methods are called by one thread at a time; only close() and close_within() by any, also while a method is under way.
class Executor {
 public:
  // Builds the plans: simplifies the graphs, makes the operators (opens data sets), starts the workers.
  Executor(std::vector<Graph> graphs, const Registry& registry, ExecutorOptions options);
  ~Executor();

  // Gives the next iteration's batches to a fed node (external_source) of a plan, named by its instance. All feeds of
  // an iteration have the same number of samples, which becomes the iteration's size; without fed nodes the size is
  // batch_size. Feeds of a node that the simplified graph doesn't have are dropped.
  void feed(int plan, std::string_view node, std::vector<Ref<Batch>> outputs);
  // Feeds of that node that no iteration has taken yet.
  int feeds_waiting(int plan, std::string_view node) const;

  // Starts an iteration. It takes one feed of each fed node; kRuntime error if one is missing.
  void start();
  // Some operators are dispatched on the thread that asks for batches, by dispatch_joint(), before an iteration is
  // taken.
  bool has_joint_operators() const;
  // Dispatches those of the oldest iteration that has any left, in order. False if their inputs are not ready within
  // the time: call again.
  bool dispatch_joint(std::chrono::milliseconds timeout);
  int64_t started() const;
  int64_t dispatched() const;  // iterations without anything left to dispatch
  int64_t delivered() const;
  // Reading ahead by one more iteration is likely to stay within memory_limit.
  bool room_to_start() const;

  // Waits at most `timeout` for the oldest iteration that was started and not taken. True when it is ready.
  bool wait(std::chrono::milliseconds timeout);
  // Takes the oldest iteration; blocks until it is ready. Throws the error of a sample (OnError::kRaise) or operator;
  // the iteration counts as delivered then too, and the next one comes out as if nothing had happened.
  IterationOutputs take();

  std::vector<std::string> reader_names(int plan) const;
  ReaderMeta reader_meta(int plan, std::string_view reader) const;

  // JSON: what has to be known to go on after the last delivered iteration, or `held` iterations of whole batches
  // before it, which somebody keeps and has not handed out. See docs/design.md, "Checkpoints".
  std::string checkpoint(int64_t held = 0) const;

  // JSON: per node samples, seconds, bytes; queue depths; memory; the verdict which stage bounds the throughput.
  std::string statistics() const;
  // Starts or stops recording of a timeline.
  void set_tracing(bool on);
  // The timeline so far as a Chrome/Perfetto trace (JSON).
  std::string trace() const;

  // The simplified graph of a plan.
  const Graph& graph(int plan) const;
  const Ref<HostPool>& pool() const;

  // Ends the workers and gives the memory back, behind a method that is under way on another thread, which throws;
  // batches that were handed out stay valid. Idempotent. Inside a function of the program that this executor runs (the
  // garbage collector may call it there) it returns at once, and the threads end after that function.
  void close();
  // The same at the program's end: waits at most so long for a function of the program. False if it is still running;
  // the executor must never be destroyed then.
  bool close_within(std::chrono::milliseconds limit);

 private:
  struct Impl;
  class Use;
  std::shared_ptr<Impl> impl_;  // close() may go on after the executor is gone
};

}  // namespace headrace
