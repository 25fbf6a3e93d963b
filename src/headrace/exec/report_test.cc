// Statistics, trace and stall report: that they tell what happened.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "core/log.h"
#include "core/thread.h"
#include "exec/executor.h"

namespace headrace {
namespace {

using Json = nlohmann::json;

std::mutex log_mutex;
std::string logged;
std::atomic<int> milliseconds{0};

void remember(LogLevel, std::string_view message) {
  std::lock_guard lock(log_mutex);
  logged += message;
}

// Takes its time over 16 bytes.
class Slow : public SampleOperator {
 public:
  explicit Slow(const OpSpec&) {}
  void infer(SampleContext& ctx) const override {
    ctx.output(0).dtype = DType::kUInt8;
    ctx.output(0).shape = Shape{16};
  }
  void run(SampleContext& ctx) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    for (int i = 0; i < 16; ++i) ctx.output(0).as<uint8_t>()[i] = 1;
  }
};

// Gives back what it gets.
class Through : public BatchOperator {
 public:
  explicit Through(const OpSpec&) {}
  void run(BatchContext& ctx) const override { ctx.outputs[0] = ctx.inputs[0]; }
};

const Registry& registry() {
  static const Registry shared = [] {
    Registry r;
    r.add<Slow>(Schema("slow").random());
    r.add<Through>(Schema("through").input("data"));
    return r;
  }();
  return shared;
}

Graph slow_graph() {
  Graph graph;
  Node node;
  node.op = "slow";
  node.name = "the slow one";
  graph.add(registry(), node);
  graph.set_outputs({{0, 0}});
  return graph;
}

ExecutorOptions options(int threads) {
  ExecutorOptions o;
  o.batch_size = 4;
  o.num_threads = threads;
  return o;
}

TEST(Report, StatisticsCountSamplesBytesAndNameTheBottleneck) {
  milliseconds = 1;
  Executor executor({slow_graph()}, registry(), options(2));
  const Json before = Json::parse(executor.statistics());
  EXPECT_EQ(before["nodes"][0]["samples"], 0);
  for (int k = 0; k < 10; ++k) {
    executor.start();
    executor.take();
  }
  const Json after = Json::parse(executor.statistics());
  const Json& node = after["nodes"][0];
  EXPECT_EQ(node["name"], "the slow one");
  EXPECT_EQ(node["samples"], 40);
  EXPECT_EQ(node["bytes"], 640);
  EXPECT_GT(node["seconds"].get<double>(), 0.02);  // 40 samples of at least a millisecond, from those that were timed
  EXPECT_EQ(after["iterations"]["delivered"], 10);
  EXPECT_EQ(after["memory"]["batches_held"], 0);
  EXPECT_NE(after["bottleneck"].get<std::string>().find("the slow one"), std::string::npos) << after["bottleneck"];
}

// Workers run the same operator for several iterations at once.
TEST(Report, StatisticsCountEveryBatchOfManyWorkers) {
  constexpr int kIterations = 20000;
  milliseconds = 0;
  Graph graph = slow_graph();
  Node node;
  node.op = "through";
  node.name = "batches";
  node.inputs = {{0, 0}};
  graph.add(registry(), node);
  graph.set_outputs({{1, 0}});
  Executor executor({graph}, registry(), options(4));
  for (int k = 0; k < kIterations; ++k) {
    while (executor.started() - executor.delivered() < 16) executor.start();
    executor.take();
  }
  while (executor.delivered() < executor.started()) executor.take();
  const Json json = Json::parse(executor.statistics());
  for (const Json& counted : json["nodes"]) EXPECT_EQ(counted["samples"], 4 * executor.delivered()) << counted["name"];
}

TEST(Report, AConsumerThatIsSlowerIsTheBottleneck) {
  milliseconds = 0;
  Executor executor({slow_graph()}, registry(), options(1));
  for (int k = 0; k < 5; ++k) {
    executor.start();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    executor.take();
  }
  const Json json = Json::parse(executor.statistics());
  EXPECT_NE(json["bottleneck"].get<std::string>().find("consumer"), std::string::npos) << json["bottleneck"];
}

TEST(Report, TheTraceHasWorkersAndConsumerWhileItIsOn) {
  milliseconds = 1;
  Executor executor({slow_graph()}, registry(), options(2));
  const auto run = [&] {
    executor.start();
    executor.take();
  };
  run();
  EXPECT_TRUE(Json::parse(executor.trace())["traceEvents"].empty());
  executor.set_tracing(true);
  run();
  executor.set_tracing(false);
  run();
  std::set<std::string> lanes;
  int tasks = 0;
  const Json trace = Json::parse(executor.trace());
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "M") lanes.insert(event["args"]["name"]);
    if (event["ph"] != "X" || event["args"]["iteration"] != 1) continue;
    EXPECT_GE(event["dur"].get<double>(), 0);
    tasks += event["name"].get<std::string>().starts_with("samples") ? 1 : 0;
  }
  EXPECT_TRUE(lanes.contains("consumer"));
  EXPECT_TRUE(lanes.contains("worker 0") || lanes.contains("worker 1"));
  EXPECT_GE(tasks, 1);
}

TEST(Report, AStallIsReportedOnceWithWhatIsUnfinished) {
  milliseconds = 60;
  ExecutorOptions o = options(1);
  o.stall_report_seconds = 0.05;
  Executor executor({slow_graph()}, registry(), o);
  set_log_sink(remember);
  executor.start();
  while (!executor.wait(std::chrono::milliseconds(10))) {
  }
  executor.take();
  set_log_sink(nullptr);
  std::lock_guard lock(log_mutex);
  EXPECT_NE(logged.find("no batch for"), std::string::npos) << logged;
  EXPECT_NE(logged.find("the slow one"), std::string::npos) << logged;
  EXPECT_EQ(logged.find("no batch for"), logged.rfind("no batch for")) << logged;
}

TEST(Threads, APinnedThreadHasOneCore) {
  std::thread([] {
    ASSERT_TRUE(pin_thread(allowed_cores()[0]));
    EXPECT_EQ(allowed_cores().size(), 1u);
  }).join();
}

}  // namespace
}  // namespace headrace
