// Closing an executor on another thread than the one that asks for batches, whatever that one is doing.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "exec/executor.h"

namespace headrace {
namespace {

class Fed : public Operator {
 public:
  explicit Fed(const OpSpec&) {}
};

class PlusOne : public SampleOperator {
 public:
  explicit PlusOne(const OpSpec&) {}
  void infer(SampleContext& ctx) const override { ctx.output(0).describe_as(ctx.input(0)); }
  void run(SampleContext& ctx) const override { *ctx.output(0).as<int64_t>() = *ctx.input(0).as<int64_t>() + 1; }
};

std::atomic<int> slow_samples = 0;

class Slow : public SampleOperator {
 public:
  explicit Slow(const OpSpec&) {}
  void infer(SampleContext& ctx) const override { ctx.output(0).describe_as(ctx.input(0)); }
  void run(SampleContext&) const override {
    ++slow_samples;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

const Registry& registry() {
  static const Registry shared = [] {
    Registry r;
    r.add<Fed>(Schema("fed").fed());
    r.add<PlusOne>(Schema("plus_one").input("data"));
    r.add<Slow>(Schema("slow").input("data"));
    return r;
  }();
  return shared;
}

// Numbers go through `op`.
Graph fed_graph(const std::string& op) {
  Graph graph;
  Node source;
  source.op = "fed";
  source.name = "source";
  graph.add(registry(), source);
  Node next;
  next.op = op;
  next.name = "next";
  next.inputs = {{0, 0}};
  graph.add(registry(), next);
  graph.set_outputs({{1, 0}, {0, 0}});
  return graph;
}

// A batch of the slots' numbers.
void feed_numbers(Executor& executor, int size) {
  Sample number;
  number.dtype = DType::kInt64;
  number.shape = Shape{1};
  auto batch = make_ref<Batch>(executor.pool(), size);
  for (int64_t i = 0; i < size; ++i) std::memcpy(batch->claim(static_cast<int>(i), number), &i, sizeof i);
  executor.feed(0, "source", {batch});
}

// Feeds batch after batch until the executor is closed.
void consume(Executor& executor) {
  constexpr int kSize = 4;
  try {
    while (true) {
      while (executor.started() - executor.delivered() < 3) {
        feed_numbers(executor, kSize);
        ASSERT_EQ(executor.feeds_waiting(0, "source"), 1);
        executor.start();
      }
      const IterationOutputs outputs = executor.take();
      for (int64_t i = 0; i < kSize; ++i) ASSERT_EQ(*(*outputs[0][0])[static_cast<int>(i)].as<int64_t>(), i + 1);
      ASSERT_FALSE(executor.statistics().empty());
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "the pipeline is closed");
  }
}

TEST(Close, OnAnotherThreadAtAnyMoment) {
  ExecutorOptions options;
  options.batch_size = 4;
  options.num_threads = 2;
  for (int k = 0; k < 100; ++k) {
    Executor executor({fed_graph("plus_one")}, registry(), options);
    std::thread consumer([&] { consume(executor); });
    std::this_thread::sleep_for(std::chrono::microseconds(37 * k));
    executor.close();
    consumer.join();
    EXPECT_EQ(executor.pool()->bytes_in_use(), 0) << "round " << k;
    EXPECT_EQ(executor.pool()->bytes_idle(), 0) << "round " << k;
  }
}

// One thread takes the batch as a whole; closing must not wait for the end of it.
TEST(Close, EndsInTheMiddleOfABatch) {
  constexpr int kSize = 2000;
  ExecutorOptions options;
  options.batch_size = kSize;
  Executor executor({fed_graph("slow")}, registry(), options);
  slow_samples = 0;
  feed_numbers(executor, kSize);
  executor.start();
  while (slow_samples < 3) std::this_thread::yield();
  executor.close();
  EXPECT_LT(slow_samples, kSize / 2);
  EXPECT_THROW(executor.take(), Error);
}

TEST(Close, ByTwoThreadsAtATime) {
  for (int k = 0; k < 200; ++k) {
    Executor executor({fed_graph("plus_one")}, registry(), ExecutorOptions());
    std::thread other([&] { executor.close(); });
    executor.close_within(std::chrono::seconds(60));
    other.join();
    EXPECT_EQ(executor.pool()->bytes_in_use(), 0) << "round " << k;
  }
}

}  // namespace
}  // namespace headrace
