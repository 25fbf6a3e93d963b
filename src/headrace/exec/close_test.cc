// Closing an executor on another thread than the one that asks for batches, whatever that one is doing.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
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

const Registry& registry() {
  static const Registry shared = [] {
    Registry r;
    r.add<Fed>(Schema("fed").fed());
    r.add<PlusOne>(Schema("plus_one").input("data"));
    return r;
  }();
  return shared;
}

Graph fed_graph() {
  Graph graph;
  Node source;
  source.op = "fed";
  source.name = "source";
  graph.add(registry(), source);
  Node next;
  next.op = "plus_one";
  next.name = "next";
  next.inputs = {{0, 0}};
  graph.add(registry(), next);
  graph.set_outputs({{1, 0}, {0, 0}});
  return graph;
}

// Feeds the slots' numbers, batch after batch, until the executor is closed.
void consume(Executor& executor) {
  constexpr int kSize = 4;
  Sample number;
  number.dtype = DType::kInt64;
  number.shape = Shape{1};
  try {
    while (true) {
      while (executor.started() - executor.delivered() < 3) {
        auto batch = make_ref<Batch>(executor.pool(), kSize);
        for (int64_t i = 0; i < kSize; ++i) std::memcpy(batch->claim(static_cast<int>(i), number), &i, sizeof i);
        executor.feed(0, "source", {batch});
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
    Executor executor({fed_graph()}, registry(), options);
    std::thread consumer([&] { consume(executor); });
    std::this_thread::sleep_for(std::chrono::microseconds(37 * k));
    executor.close();
    consumer.join();
    EXPECT_EQ(executor.pool()->bytes_in_use(), 0) << "round " << k;
    EXPECT_EQ(executor.pool()->bytes_idle(), 0) << "round " << k;
  }
}

}  // namespace
}  // namespace headrace
