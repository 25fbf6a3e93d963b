// Operators: what the engine calls. A sample operator works on one sample at a time; the engine does the batching and
// the threads. A batch operator needs the whole batch at once. A reader is a sample operator that fetches records.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/arena.h"
#include "core/batch.h"
#include "core/philox.h"
#include "core/sample.h"
#include "graph/op_spec.h"

namespace headrace {

// What an operator keeps per worker thread: decoders, tables. Made on the worker's first sample.
class WorkerState {
 public:
  virtual ~WorkerState() = default;
};

// One sample's view of the graph around one operator. Lives for the two calls infer() and run().
class SampleContext {
 public:
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  const Sample& input(int i) const { return *at(inputs_, i, "input"); }
  // The value of the i-th entry of OpSpec::tensor_args. Use Arg and ArgList instead (graph/arg.h).
  const Sample& argument(int i) const { return *at(arguments_, i, "tensor argument"); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  Sample& output(int i) { return *at(outputs_, i, "output"); }

  // Who the sample is: the key of all randomness. A reader sees the record that it has to fetch.
  const SampleId& id() const { return id_; }
  // Random numbers of this operator for this sample.
  RandomStream random(uint64_t seed) const { return RandomStream(seed, id_.epoch, id_.position); }

  // Scratch memory, valid until the sample is finished.
  Arena& arena() const { return *arena_; }
  // What infer() computed and run() needs. T is trivially destructible and lives in the arena.
  template <typename T> T& make_plan() {
    T* plan = arena_->allocate_array<T>(1).data();
    plan_ = plan;
    return *plan;
  }
  template <typename T> T& plan() const { return *static_cast<T*>(plan_); }
  template <typename T> T& worker_state() const { return static_cast<T&>(*worker_state_); }
  // For views: which input the output shows. The first one unless infer() says otherwise.
  void set_viewed_input(int i) { viewed_input_ = i; }

 private:
  template <typename T> static T* at(const std::vector<T*>& samples, int i, const char* what) {
    if (static_cast<size_t>(i) >= samples.size()) [[unlikely]]
      refuse(what, i, samples.size());
    return samples[static_cast<size_t>(i)];
  }
  [[noreturn]] static void refuse(const char* what, int i, size_t count);

  friend class SampleFrame;  // exec/sample_frame.h fills it in
  friend class OpTester;     // ops/op_tester.h too, for tests
  std::vector<const Sample*> inputs_;
  std::vector<const Sample*> arguments_;
  std::vector<Sample*> outputs_;
  SampleId id_;
  Arena* arena_ = nullptr;
  void* plan_ = nullptr;
  int viewed_input_ = 0;
  std::unique_ptr<WorkerState> worker_state_;
};

class Operator {
 public:
  virtual ~Operator() = default;
  // What the operator counts itself, by name, for the statistics. Called while it runs.
  virtual std::vector<std::pair<std::string_view, int64_t>> counters() const { return {}; }
};

// Holds no mutable state: one object serves all workers at once.
class SampleOperator : public Operator {
 public:
  // Checks the inputs, and sets dtype, shape, layout of every output; reads values only of inputs and arguments whose
  // schema says so. May put a plan into the context.
  virtual void infer(SampleContext& ctx) const = 0;
  // Computes the outputs: output(i).data is memory of the inferred size. Views (Schema::view) are never run.
  virtual void run(SampleContext& ctx) const = 0;

  // The part of input `i` that the part `needed` of output 0 is computed from, after infer(); nothing: all of it. Who
  // returns a region reads the input as Note [regions] says (core/sample.h).
  virtual std::optional<Region> input_region(const SampleContext& ctx, int i, const Region& needed) const {
    (void)ctx, (void)i, (void)needed;
    return std::nullopt;
  }
  // run() can leave out what lies outside of output(0).region, if that is set; data then holds the region, densely.
  virtual bool writes_regions() const { return false; }

  virtual std::unique_ptr<WorkerState> make_worker_state() const { return nullptr; }

  // Samples that this worker is likely to meet, `later` after `soon`; as in a context, a reader sees its records. Asks
  // the processor for memory that infer() and run() will read, for `later` for what tells where that memory is. What it
  // throws is ignored.
  virtual void prefetch(const SampleId& soon, const SampleId& later) const { (void)soon, (void)later; }
};

// An infinite source of records by index; the sampler (exec/sampler.h) decides which one comes when.
class Reader : public SampleOperator, public SourceNames {
 public:
  // Number of records. > 0.
  virtual int64_t size() const = 0;
  // Seed of a permutation of all records anew in each epoch (the argument shuffle_after_epoch); -1: none.
  virtual int64_t epoch_shuffle_seed() const { return -1; }
};

// The whole batch, for operators whose result depends on all samples, or that call Python.
class BatchContext {
 public:
  std::vector<Ref<Batch>> inputs;     // regular inputs
  std::vector<Ref<Batch>> arguments;  // in the order of OpSpec::tensor_args
  std::vector<Ref<Batch>> outputs;    // to be filled in
  std::vector<bool> writable;         // by input: nobody else reads these bytes, so run() may change them
  std::shared_ptr<void> dispatched;   // what dispatch() left for run()
  Ref<BatchRows> rows;
  Ref<HostPool> pool;
  int64_t iteration = 0;
  int plan = 0;  // number of the pipeline in its group
};

// Where a batch operator runs.
enum class Lane {
  kWorker,  // on any worker
  kPython,  // on the thread for the program's Python, in iteration order, one at a time
  kCaller,  // dispatched on the thread that asks for batches, collected on the Python lane: see dispatch()
};

class BatchOperator : public Operator {
 public:
  virtual void run(BatchContext& ctx) const = 0;
  virtual Lane lane() const { return Lane::kWorker; }
  // For Lane::kCaller: begins the work of one iteration for all plans of the group at once. run() is called for each
  // plan afterwards, and waits for the result. The order of dispatches depends on the count of calls only.
  virtual void dispatch(std::span<BatchContext> plans) const { (void)plans; }
};

}  // namespace headrace
