// Executor: identity, determinism, errors, resume and lifetime of batches, with operators made for the test.
#include "exec/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "graph/arg.h"

namespace headrace {
namespace {

constexpr int64_t kRecords = 37;
std::atomic<int> slow_microseconds{0};
std::atomic<int64_t> bad_record{-1};
std::atomic<int64_t> refused_number{-1};
std::atomic<int> batch_sums{0};
std::function<void()> program_function;
// Of records; only with one worker.
std::function<void(int64_t soon, int64_t later)> on_prefetch;
std::function<void(int64_t)> on_fetch;

// Record i is the number i, and i more bytes of the value i.
class NumberReader : public Reader {
 public:
  explicit NumberReader(const OpSpec&) {}
  int64_t size() const override { return kRecords; }
  std::string source_name(int64_t index) const override { return "record " + std::to_string(index); }
  void infer(SampleContext& ctx) const override {
    ctx.output(0).dtype = DType::kInt64;
    ctx.output(0).shape = Shape{1};
    ctx.output(0).source = {this, ctx.id().index};
    ctx.output(1).dtype = DType::kUInt8;
    ctx.output(1).shape = Shape{ctx.id().index};
    if (on_fetch) on_fetch(ctx.id().index);
  }
  void prefetch(const SampleId& soon, const SampleId& later) const override {
    if (on_prefetch) on_prefetch(soon.index, later.index);
  }
  void run(SampleContext& ctx) const override {
    check(ctx.id().index != bad_record, "the record is bad");
    if (slow_microseconds > 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(slow_microseconds * (ctx.id().index % 3)));
    }
    *ctx.output(0).as<int64_t>() = ctx.id().index;
    if (ctx.id().index > 0) std::memset(ctx.output(1).data, static_cast<int>(ctx.id().index), ctx.id().index);
  }
};

// input + a random number in [0, 1000) * 100
class AddNoise : public SampleOperator {
 public:
  explicit AddNoise(const OpSpec& spec) : seed_(spec.seed) {}
  void infer(SampleContext& ctx) const override { ctx.output(0).describe_as(ctx.input(0)); }
  void run(SampleContext& ctx) const override {
    RandomStream random = ctx.random(seed_);
    *ctx.output(0).as<int64_t>() = *ctx.input(0).as<int64_t>() + 100 * static_cast<int64_t>(random.next_below(1000));
  }

 private:
  uint64_t seed_;
};

// Every sample becomes the sum of the batch.
class BatchSum : public BatchOperator {
 public:
  explicit BatchSum(const OpSpec&) {}
  void run(BatchContext& ctx) const override {
    ++batch_sums;
    int64_t sum = 0;
    for (int i = 0; i < ctx.inputs[0]->size(); ++i) sum += *(*ctx.inputs[0])[i].as<int64_t>();
    ctx.outputs[0] = make_ref<Batch>(ctx.pool, ctx.inputs[0]->size());
    for (int i = 0; i < ctx.inputs[0]->size(); ++i) {
      std::memcpy(ctx.outputs[0]->claim(i, (*ctx.inputs[0])[i]), &sum, sizeof sum);
    }
  }
};

class Fed : public Operator {
 public:
  explicit Fed(const OpSpec&) {}
};

class Keep : public SampleOperator {
 public:
  explicit Keep(const OpSpec&) {}
  void infer(SampleContext& ctx) const override {
    ctx.output(0).describe_as(ctx.input(0));
    ctx.output(0).shape = Shape{1, 1};
  }
  void run(SampleContext&) const override { fail(ErrorKind::kInternal, "a view must not be run"); }
};

// Output 0 if the number is even, else output 1.
class SplitByParity : public SampleOperator {
 public:
  explicit SplitByParity(const OpSpec&) {}
  void infer(SampleContext& ctx) const override {
    ctx.output(*ctx.input(0).as<int64_t>() % 2 == 0 ? 0 : 1).describe_as(ctx.input(0));
  }
  void run(SampleContext&) const override { fail(ErrorKind::kInternal, "a view must not be run"); }
};

class MergeByPresence : public SampleOperator {
 public:
  explicit MergeByPresence(const OpSpec&) {}
  void infer(SampleContext& ctx) const override {
    const int i = ctx.input(0).present() ? 0 : 1;
    ctx.set_viewed_input(i);
    ctx.output(0).describe_as(ctx.input(i));
  }
  void run(SampleContext&) const override { fail(ErrorKind::kInternal, "a view must not be run"); }
};

// The slots' numbers, whatever else is in the graph.
class SlotNumbers : public BatchOperator {
 public:
  explicit SlotNumbers(const OpSpec&) {}
  void run(BatchContext& ctx) const override {
    const auto size = static_cast<int>(ctx.rows->ids.size());
    ctx.outputs[0] = make_ref<Batch>(ctx.pool, size);
    Sample like;
    like.dtype = DType::kInt64;
    like.shape = Shape{1};
    for (int64_t i = 0; i < size; ++i) {
      std::memcpy(ctx.outputs[0]->claim(static_cast<int>(i), like), &i, sizeof i);
    }
  }
};

// The number plus one; refuses `refused_number`.
class Increment : public SampleOperator {
 public:
  explicit Increment(const OpSpec&) {}
  void infer(SampleContext& ctx) const override { ctx.output(0).describe_as(ctx.input(0)); }
  void run(SampleContext& ctx) const override {
    const int64_t number = *ctx.input(0).as<int64_t>();
    check(number != refused_number, "the number {} is refused", number);
    *ctx.output(0).as<int64_t>() = number + 1;
  }
};

// Gives its input back.
class Through : public BatchOperator {
 public:
  explicit Through(const OpSpec&) {}
  void run(BatchContext& ctx) const override {
    std::vector<Sample> samples(static_cast<size_t>(ctx.inputs[0]->size()));
    for (int i = 0; i < ctx.inputs[0]->size(); ++i) samples[static_cast<size_t>(i)] = (*ctx.inputs[0])[i];
    ctx.outputs[0] = ctx.inputs[0]->with_samples(std::move(samples));
  }
};

// Runs `program_function` as a function of the program.
class CallsProgram : public BatchSum {
 public:
  explicit CallsProgram(const OpSpec& spec) : BatchSum(spec) {}
  Lane lane() const override { return Lane::kPython; }
  void run(BatchContext& ctx) const override {
    program_function();
    BatchSum::run(ctx);
  }
};

const Registry& test_registry() {
  static const Registry registry = [] {
    Registry r;
    r.add<NumberReader>(Schema("numbers").outputs(2).reader());
    r.add<AddNoise>(Schema("noise").input("data").random());
    r.add<BatchSum>(Schema("batch_sum").input("data"));
    r.add<Through>(Schema("through").input("data"));
    r.add<SlotNumbers>(Schema("slot_numbers"));
    r.add<Increment>(Schema("increment").input("data"));
    r.add<CallsProgram>(Schema("calls_program").input("data"));
    r.add<SplitByParity>(Schema("split").input("data", {.infer_reads_data = true}).split());
    r.add<MergeByPresence>(Schema("merge").input("a").input("b").merge());
    r.add<Keep>(Schema("keep").input("data").view());
    r.add<Fed>(Schema("fed").fed());
    return r;
  }();
  return registry;
}

Node make_node(std::string op, std::string name, std::vector<Edge> inputs = {}, ArgMap args = {}) {
  Node node;
  node.op = std::move(op);
  node.name = std::move(name);
  node.inputs = std::move(inputs);
  node.args = std::move(args);
  node.seed = 77 + node.name.size();
  return node;
}

// numbers -> noise -> view, and the ragged bytes
Graph reading_graph(ArgMap reader_args = {}) {
  Graph graph;
  graph.add(test_registry(), make_node("numbers", "reader", {}, std::move(reader_args)));
  graph.add(test_registry(), make_node("noise", "noisy", {{0, 0}}));
  graph.add(test_registry(), make_node("keep", "view", {{1, 0}}));
  graph.set_outputs({{2, 0}, {0, 1}, {0, 0}});
  return graph;
}

ExecutorOptions options(int batch_size, int threads = 1) {
  ExecutorOptions o;
  o.batch_size = batch_size;
  o.num_threads = threads;
  return o;
}

IterationOutputs next(Executor& executor, int depth) {
  while (executor.started() - executor.delivered() < depth) executor.start();
  return executor.take();
}

int64_t number_at(const Batch& batch, int slot) { return *batch[slot].as<int64_t>(); }

TEST(Executor, ValuesDependOnlyOnIdentity) {
  // (epoch, position) -> value, from the simplest run; every other way of running must agree.
  std::map<std::pair<int64_t, int64_t>, int64_t> expected;
  slow_microseconds = 20;
  for (int threads : {1, 2, 4}) {
    for (int batch_size : {1, 3, 8}) {
      for (int depth : {1, 2, 4}) {
        Executor executor({reading_graph({{"random_shuffle", true}})}, test_registry(), options(batch_size, threads));
        for (int64_t samples = 0; samples < 2 * kRecords; samples += batch_size) {
          const auto outputs = next(executor, depth);
          const Batch& noisy = *outputs[0][0];
          for (int slot = 0; slot < noisy.size(); ++slot) {
            const SampleId& id = noisy.rows->ids[slot];
            const int64_t value = number_at(noisy, slot);
            EXPECT_EQ(value % 100, id.index);
            EXPECT_EQ(number_at(*outputs[0][2], slot), id.index);
            const auto [it, is_new] = expected.emplace(std::pair(id.epoch, id.position), value);
            EXPECT_EQ(it->second, value) << threads << " " << batch_size << " " << depth;
          }
        }
      }
    }
  }
  slow_microseconds = 0;
  std::set<int64_t> distinct;
  for (const auto& [key, value] : expected) distinct.insert(value / 100);
  EXPECT_GT(distinct.size(), 50u);  // the noise is noise
}

TEST(Executor, ViewsAreWrittenInPlaceAndOutputsAreDenseOrRagged) {
  Executor executor({reading_graph()}, test_registry(), options(8));
  const auto outputs = next(executor, 1);
  EXPECT_EQ(outputs[0][0]->ndim(), 2);
  EXPECT_TRUE(outputs[0][0]->is_dense());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(outputs[0][0]->data()) % 64, 0u);
  EXPECT_FALSE(outputs[0][1]->is_dense());
  for (int slot = 0; slot < 8; ++slot) {
    const Sample& bytes = (*outputs[0][1])[slot];
    ASSERT_EQ(bytes.shape, Shape{slot});
    for (int64_t i = 0; i < slot; ++i) EXPECT_EQ(bytes.as<uint8_t>()[i], slot);
  }
}

TEST(Executor, HeldBatchesNeverChange) {
  Executor executor({reading_graph()}, test_registry(), options(5, 2));
  std::vector<IterationOutputs> held;
  held.reserve(40);
  for (int k = 0; k < 40; ++k) held.push_back(next(executor, 3));
  for (int k = 0; k < 40; ++k) {
    for (int slot = 0; slot < 5; ++slot) EXPECT_EQ(number_at(*held[k][0][2], slot), (k * 5 + slot) % kRecords);
  }
  executor.close();
  EXPECT_EQ(number_at(*held[39][0][2], 0), (39 * 5) % kRecords);
}

TEST(Executor, SteadyStateAllocatesNothing) {
  Executor executor({reading_graph()}, test_registry(), options(5, 2));
  for (int k = 0; k < 1000; ++k) next(executor, 2);
  // How many buffers are in use at a time hangs on how the threads run, but has a bound.
  EXPECT_LE(executor.pool()->system_allocations(), 40);
  EXPECT_EQ(executor.pool()->held_batches(), 0);
}

TEST(Executor, OperatorsHearOfSamplesThatComeSoon) {
  constexpr int kBatch = 12;
  std::vector<int64_t> soon, later, fetched;
  on_prefetch = [&](int64_t s, int64_t l) { soon.push_back(s), later.push_back(l); };
  on_fetch = [&](int64_t index) { fetched.push_back(index); };
  {
    Executor executor({reading_graph({{"random_shuffle", true}})}, test_registry(), options(kBatch));
    next(executor, 1);
  }
  on_prefetch = nullptr;
  on_fetch = nullptr;
  ASSERT_EQ(fetched.size(), kBatch);
  EXPECT_EQ(soon, std::vector(fetched.begin() + 2, fetched.end() - 2));
  EXPECT_EQ(later, std::vector(fetched.begin() + 4, fetched.end()));
}

TEST(Executor, BatchOperatorsRunBetweenSampleSegments) {
  Graph graph;
  graph.add(test_registry(), make_node("numbers", "reader"));
  graph.add(test_registry(), make_node("batch_sum", "sum", {{0, 0}}));
  graph.add(test_registry(), make_node("noise", "noisy", {{1, 0}}));
  graph.set_outputs({{1, 0}, {2, 0}});
  Executor executor({graph}, test_registry(), options(4, 2));
  for (int k = 0; k < 3; ++k) {
    const auto outputs = next(executor, 2);
    const int64_t sum = 4 * (4 * k) + 6;
    for (int slot = 0; slot < 4; ++slot) {
      EXPECT_EQ(number_at(*outputs[0][0], slot), sum);
      EXPECT_EQ((number_at(*outputs[0][1], slot) - sum) % 100, 0);
    }
  }
}

TEST(Executor, BranchesRunForTheirRowsOnly) {
  // even: the sum of the batch's even numbers; odd: the number plus noise
  Graph graph;
  graph.add(test_registry(), make_node("numbers", "reader"));
  graph.add(test_registry(), make_node("split", "split", {{0, 0}}));
  graph.add(test_registry(), make_node("batch_sum", "sum", {{1, 0}}));
  graph.add(test_registry(), make_node("noise", "noisy", {{1, 1}}));
  graph.add(test_registry(), make_node("merge", "merge", {{2, 0}, {3, 0}}));
  graph.set_outputs({{4, 0}, {0, 0}});
  for (int batch_size : {1, 4}) {
    batch_sums = 0;
    int with_even = 0;
    Executor executor({graph}, test_registry(), options(batch_size, 2));
    for (int k = 0; k < 12; ++k) {
      const auto outputs = next(executor, 1);
      int64_t even_sum = 0;
      bool any_even = false;
      for (int slot = 0; slot < batch_size; ++slot) {
        const int64_t number = number_at(*outputs[0][1], slot);
        if (number % 2 == 0) even_sum += number;
        any_even = any_even || number % 2 == 0;
      }
      with_even += any_even;
      for (int slot = 0; slot < batch_size; ++slot) {
        const int64_t number = number_at(*outputs[0][1], slot);
        const int64_t got = number_at(*outputs[0][0], slot);
        EXPECT_EQ(number % 2 == 0 ? got : got % 100, number % 2 == 0 ? even_sum : number);
      }
      EXPECT_TRUE(outputs[0][0]->is_dense());
    }
    EXPECT_EQ(batch_sums, with_even);  // an empty branch is never called
  }
}

TEST(Executor, OutputsOfABranchHaveItsRows) {
  Graph graph;
  graph.add(test_registry(), make_node("numbers", "reader"));
  graph.add(test_registry(), make_node("split", "split", {{0, 0}}));
  graph.add(test_registry(), make_node("through", "through", {{1, 0}}));
  graph.set_outputs({{2, 0}});
  Executor executor({graph}, test_registry(), options(5, 2));
  for (int k = 0; k < 6; ++k) {
    const auto outputs = next(executor, 1);
    const Batch& even = *outputs[0][0];
    ASSERT_EQ(even.rows->ids.size(), static_cast<size_t>(even.size()));
    ASSERT_EQ(even.rows->status.size(), static_cast<size_t>(even.size()));
    for (int row = 0; row < even.size(); ++row) {
      EXPECT_EQ(number_at(even, row) % 2, 0);
      EXPECT_EQ(even.rows->ids[row].index, number_at(even, row));
      EXPECT_EQ(even.rows->status[row], RowStatus::kGood);
    }
  }
}

TEST(Executor, FedBatchesSetTheSize) {
  Graph graph;
  graph.add(test_registry(), make_node("fed", "source"));
  graph.add(test_registry(), make_node("noise", "noisy", {{0, 0}}));
  graph.set_outputs({{0, 0}, {1, 0}});
  Executor executor({graph}, test_registry(), options(4));
  EXPECT_THROW(executor.start(), Error);
  for (int size : {4, 2, 0, 3}) {
    auto batch = make_ref<Batch>(executor.pool(), size);
    Sample like;
    like.dtype = DType::kInt64;
    like.shape = Shape{1};
    for (int64_t i = 0; i < size; ++i) std::memcpy(batch->claim(static_cast<int>(i), like), &i, sizeof i);
    executor.feed(0, "source", {batch});
    executor.start();
    const auto outputs = executor.take();
    ASSERT_EQ(outputs[0][1]->size(), size);
    for (int slot = 0; slot < size; ++slot) EXPECT_EQ(number_at(*outputs[0][1], slot) % 100, slot);
  }
}

TEST(Executor, RaiseNamesNodeSampleAndSourceAndGoesOn) {
  bad_record = 6;
  Executor executor({reading_graph()}, test_registry(), options(4));
  next(executor, 2);
  try {
    next(executor, 2);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("headrace.fn.numbers"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("Sample 2 of the batch"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("record 6"), std::string::npos) << error.message();
  }
  EXPECT_EQ(number_at(*next(executor, 2)[0][2], 0), 8);
  bad_record = -1;
}

TEST(Executor, SkipReplacesAndZeroClearsOnlyTheBadRow) {
  for (OnError policy : {OnError::kSkip, OnError::kZero}) {
    for (int64_t bad : {0, 6, 36}) {
      bad_record = bad;
      ExecutorOptions o = options(4, 2);
      o.on_error = policy;
      // The first batch of kZero needs a good sample to know the shape: it has three.
      Executor executor({reading_graph()}, test_registry(), o);
      for (int64_t first = 0; first < 2 * kRecords; first += 4) {
        const auto outputs = next(executor, 2);
        for (int slot = 0; slot < 4; ++slot) {
          const int64_t record = (first + slot) % kRecords;
          const int64_t got = number_at(*outputs[0][2], slot);
          const RowStatus status = outputs[0][2]->rows->status[slot];
          if (record != bad) {
            EXPECT_EQ(got, record);
            EXPECT_EQ(status, RowStatus::kGood);
          } else if (policy == OnError::kZero) {
            EXPECT_EQ(got, 0);
            EXPECT_EQ(number_at(*outputs[0][0], slot), 0);
            EXPECT_EQ(status, RowStatus::kZeroed);
          } else {
            EXPECT_NE(got, bad);
            EXPECT_EQ(outputs[0][2]->rows->ids[slot].index, got);
            EXPECT_EQ(status, RowStatus::kSubstituted);
          }
        }
      }
    }
  }
  bad_record = -1;
}

// One segment reads; the other stands behind a batch operator that has nothing to do with it.
TEST(Executor, EachSegmentZeroesItsOwnRows) {
  Graph graph;
  graph.add(test_registry(), make_node("numbers", "reader"));
  graph.add(test_registry(), make_node("slot_numbers", "slots"));
  graph.add(test_registry(), make_node("increment", "next", {{1, 0}}));
  graph.set_outputs({{0, 0}, {2, 0}});
  constexpr int kBatch = 8;
  bad_record = 5;
  refused_number = 3;
  for (int threads : {1, 2, 4}) {
    ExecutorOptions o = options(kBatch, threads);
    o.on_error = OnError::kZero;
    Executor executor({graph}, test_registry(), o);
    for (int64_t first = 0; first < 3 * kRecords; first += kBatch) {
      const auto outputs = next(executor, 2);
      for (int slot = 0; slot < kBatch; ++slot) {
        const int64_t record = (first + slot) % kRecords;
        const bool zeroed = record == bad_record || slot == refused_number;
        EXPECT_EQ(number_at(*outputs[0][0], slot), record == bad_record ? 0 : record);
        EXPECT_EQ(number_at(*outputs[0][1], slot), slot == refused_number ? 0 : slot + 1);
        for (const auto& output : outputs[0]) {
          EXPECT_EQ(output->rows->status[slot], zeroed ? RowStatus::kZeroed : RowStatus::kGood) << slot;
        }
      }
    }
  }
  bad_record = refused_number = -1;
}

TEST(Executor, ResumeAtEveryStepEqualsTheUninterruptedRun) {
  const Graph graph = reading_graph({{"random_shuffle", true}, {"num_shards", int64_t{2}}});
  std::vector<std::vector<int64_t>> whole;
  std::vector<std::string> checkpoints;
  Executor executor({graph}, test_registry(), options(4, 2));
  const auto values = [](const IterationOutputs& outputs) {
    std::vector<int64_t> list(4);
    for (int slot = 0; slot < 4; ++slot) list[static_cast<size_t>(slot)] = number_at(*outputs[0][0], slot);
    return list;
  };
  for (int k = 0; k < 20; ++k) {
    checkpoints.push_back(executor.checkpoint());
    whole.push_back(values(next(executor, 3)));
  }
  for (int k = 0; k < 20; ++k) EXPECT_EQ(executor.checkpoint(20 - k), checkpoints[k]);
  EXPECT_THROW(executor.checkpoint(21), Error);
  for (int k = 0; k < 20; ++k) {
    ExecutorOptions o = options(4, 1);
    o.checkpoint = checkpoints[k];
    Executor resumed({graph}, test_registry(), o);
    for (int j = k; j < 20; ++j) ASSERT_EQ(values(next(resumed, 2)), whole[j]) << k << " " << j;
  }
}

TEST(Executor, CheckpointsOfSomethingElseAreRefused) {
  const std::string checkpoint = Executor({reading_graph()}, test_registry(), options(4)).checkpoint();
  const auto message = [&](const Graph& graph, const std::string& text) -> std::string {
    ExecutorOptions o = options(4);
    o.checkpoint = text;
    try {
      Executor executor({graph}, test_registry(), o);
    } catch (const Error& error) {
      return error.message();
    }
    return "accepted";
  };
  EXPECT_EQ(message(reading_graph(), checkpoint), "accepted");
  EXPECT_NE(message(reading_graph({{"random_shuffle", true}}), checkpoint).find("graph"), std::string::npos);
  EXPECT_NE(message(reading_graph({{"stick_to_shard", true}}), checkpoint).find("graph"), std::string::npos);
  for (size_t cut = 1; cut < checkpoint.size(); cut += 7) {
    EXPECT_NE(message(reading_graph(), checkpoint.substr(0, cut)), "accepted") << cut;
  }
}

ArgMap shard_args(int64_t shard, int64_t num_shards) {
  return {{"shard_id", shard}, {"num_shards", num_shards}, {"random_shuffle", true}};
}

// The epoch's records that executors of one shard each read, batch after batch, until the epoch of all has ended.
std::multiset<int64_t> rest_of_epoch(std::vector<std::unique_ptr<Executor>>& ranks, int64_t epoch) {
  std::multiset<int64_t> records;
  for (auto& rank : ranks) {
    for (bool in_epoch = true; in_epoch;) {
      const auto outputs = next(*rank, 1);
      in_epoch = false;
      for (const SampleId& id : outputs[0][0]->rows->ids) {
        if (id.epoch != epoch) continue;
        records.insert(id.index);
        in_epoch = true;
      }
    }
  }
  return records;
}

TEST(Executor, OnOtherShardsTheRestOfTheEpochIsTheComplement) {
  for (const int64_t before : {1, 2, 3, 5}) {
    for (const int64_t after : {1, 2, 4, 5}) {
      for (int steps = 1; steps <= 3; ++steps) {
        std::multiset<int64_t> seen;
        std::string checkpoints;
        for (int64_t shard = 0; shard < before; ++shard) {
          Executor rank({reading_graph(shard_args(shard, before))}, test_registry(), options(2));
          for (int k = 0; k < steps; ++k) {
            const auto outputs = next(rank, 2);
            for (const SampleId& id : outputs[0][0]->rows->ids) seen.insert(id.index);
          }
          checkpoints += (checkpoints.empty() ? "[" : ",") + rank.checkpoint();
        }
        std::vector<std::unique_ptr<Executor>> ranks;
        for (int64_t shard = 0; shard < after; ++shard) {
          ExecutorOptions o = options(2);
          o.checkpoint = checkpoints + "]";
          ranks.push_back(std::make_unique<Executor>(std::vector<Graph>{reading_graph(shard_args(shard, after))},
                                                     test_registry(), o));
        }
        seen.merge(rest_of_epoch(ranks, 0));
        ASSERT_EQ(seen.size(), static_cast<size_t>(kRecords)) << before << " " << after << " " << steps;
        ASSERT_EQ(std::set<int64_t>(seen.begin(), seen.end()).size(), seen.size());
      }
    }
  }
}

TEST(Executor, OtherShardsNeedTheStatesOfAll) {
  const std::string one = Executor({reading_graph(shard_args(1, 2))}, test_registry(), options(4)).checkpoint();
  ExecutorOptions o = options(4);
  o.checkpoint = one;
  try {
    Executor executor({reading_graph(shard_args(0, 4))}, test_registry(), o);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("states of all 2 shards, got 1"), std::string::npos) << error.message();
  }
}

TEST(Executor, GroupsRunTheirPlansTogether) {
  std::vector<Graph> graphs;
  for (int64_t shard = 0; shard < 3; ++shard)
    graphs.push_back(reading_graph({{"num_shards", int64_t{3}}, {"shard_id", shard}}));
  Executor executor(graphs, test_registry(), options(4, 2));
  const auto outputs = next(executor, 2);
  ASSERT_EQ(outputs.size(), 3u);
  for (int64_t shard = 0; shard < 3; ++shard) {
    for (int slot = 0; slot < 4; ++slot) {
      EXPECT_EQ(number_at(*outputs[shard][2], slot), shard * kRecords / 3 + slot);
    }
  }
}

TEST(Executor, MemoryLimitIsAnErrorNotAWait) {
  ExecutorOptions o = options(32, 2);
  o.memory_limit = 400 << 10;
  Executor executor({reading_graph()}, test_registry(), o);
  std::vector<IterationOutputs> held;
  try {
    for (int k = 0; k < 2000; ++k) {
      if (executor.started() == executor.delivered()) executor.start();
      held.push_back(executor.take());
    }
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kMemory);
    EXPECT_NE(error.message().find("batches are held"), std::string::npos) << error.message();
  }
  EXPECT_LE(executor.pool()->bytes_in_use(), o.memory_limit);
  held.clear();
  executor.start();
  EXPECT_EQ(executor.take()[0].size(), 3u);
}

// The garbage collector may end an executor inside a function that the executor itself runs.
TEST(Executor, ClosesInsideAFunctionOfTheProgram) {
  Graph graph;
  graph.add(test_registry(), make_node("numbers", "reader"));
  graph.add(test_registry(), make_node("calls_program", "function", {{0, 0}}));
  graph.set_outputs({{1, 0}});
  for (const bool destroy : {false, true}) {
    auto executor = std::make_unique<Executor>(std::vector<Graph>{graph}, test_registry(), options(4, 2));
    const Ref<HostPool> pool = executor->pool();
    std::promise<void> started, called;
    program_function = [&] {
      started.get_future().wait();
      if (destroy) {
        executor.reset();
      } else {
        executor->close();
      }
      called.set_value();
    };
    executor->start();
    started.set_value();
    ASSERT_EQ(called.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
    if (!destroy) {
      EXPECT_THROW(executor->start(), Error);
    }
    executor.reset();
    while (pool->bytes_in_use() > 0) std::this_thread::yield();  // the threads end behind the function
  }
  program_function = nullptr;
}

TEST(Executor, ClosesWhileWorkIsUnderWay) {
  slow_microseconds = 2000;
  for (int k = 0; k < 20; ++k) {
    Executor executor({reading_graph()}, test_registry(), options(16, 3));
    for (int i = 0; i < 3; ++i) executor.start();
    if (k % 2) executor.take();
    executor.close();
    EXPECT_THROW(executor.start(), Error);
  }
  slow_microseconds = 0;
}

}  // namespace
}  // namespace headrace
