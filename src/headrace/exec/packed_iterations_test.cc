// Iterations packed into buffers: what a plain loop over the reader's numbers gives, also where a batch looks
// different, a sample fails, or another thread asks for statistics.
#include "exec/packed_iterations.h"

#include <gtest/gtest.h>

#include <thread>

namespace headrace {
namespace {

constexpr int kBatch = 4;
constexpr int64_t kRecords = 40;
constexpr int64_t kBad = 21;   // refused with "bad"
constexpr int64_t kLong = 30;  // of three elements with "ragged"

// Record i is (i, -i) as int64.
class PairReader : public Reader {
 public:
  explicit PairReader(const OpSpec& spec) : bad_(spec.get_bool("bad")), ragged_(spec.get_bool("ragged")) {}
  int64_t size() const override { return kRecords; }
  std::string source_name(int64_t index) const override { return std::to_string(index); }
  void infer(SampleContext& ctx) const override {
    ctx.output(0).dtype = DType::kInt64;
    ctx.output(0).shape = Shape{ragged_ && ctx.id().index / kBatch == kLong / kBatch ? 3 : 2};
  }
  void run(SampleContext& ctx) const override {
    check(!bad_ || ctx.id().index != kBad, "the record is bad");
    auto* out = ctx.output(0).as<int64_t>();
    out[0] = ctx.id().index;
    out[1] = -ctx.id().index;
  }

 private:
  bool bad_;
  bool ragged_;
};

const Registry& registry() {
  static const Registry shared = [] {
    Registry r;
    r.add<PairReader>(
        Schema("pairs").reader().arg("bad", ArgType::kBool, false, "").arg("ragged", ArgType::kBool, false, ""));
    return r;
  }();
  return shared;
}

Graph graph_of(ArgMap args) {
  Graph graph;
  Node reader;
  reader.op = "pairs";
  reader.name = "reader";
  reader.args = std::move(args);
  graph.add(registry(), reader);
  graph.set_outputs({{0, 0}});
  return graph;
}

struct Packed {
  std::vector<int64_t> values;
  PackedIterations iterations;
};

Packed pack(Executor& executor, int count, int64_t elements = 2) {
  Packed packed{std::vector<int64_t>(static_cast<size_t>(count * kBatch * elements + 3)), {}};
  const PackedOutput output{3 * sizeof(int64_t), DType::kInt64, Shape{kBatch, elements}};
  packed.iterations = take_packed(executor, 3, count, {reinterpret_cast<uint8_t*>(packed.values.data())}, {output});
  return packed;
}

void expect_numbers(const Packed& packed, int64_t first, int64_t iterations) {
  ASSERT_EQ(packed.iterations.rows.size(), static_cast<size_t>(iterations));
  for (int64_t i = 0; i < iterations * kBatch; ++i) {
    const int64_t index = (first + i) % kRecords;
    ASSERT_EQ(packed.values[static_cast<size_t>(3 + 2 * i)], index);
    ASSERT_EQ(packed.values[static_cast<size_t>(4 + 2 * i)], -index);
    const BatchRows& rows = *packed.iterations.rows[static_cast<size_t>(i / kBatch)][0];
    ASSERT_EQ(rows.ids[static_cast<size_t>(i % kBatch)].index, index);
  }
}

ExecutorOptions options() {
  ExecutorOptions o;
  o.batch_size = kBatch;
  o.num_threads = 2;
  return o;
}

TEST(PackedIterations, AreThoseOfALoop) {
  Executor executor({graph_of({})}, registry(), options());
  int64_t first = 0;
  for (const int count : {1, 2, 7, 30}) {
    const Packed packed = pack(executor, count);
    ASSERT_NO_FATAL_FAILURE(expect_numbers(packed, first, count));
    EXPECT_FALSE(packed.iterations.last || packed.iterations.error);
    first += count * kBatch;
  }
  EXPECT_EQ(executor.delivered(), 40);
}

TEST(PackedIterations, EndBeforeOneThatLooksDifferent) {
  Executor executor({graph_of({{"ragged", true}})}, registry(), options());
  const Packed packed = pack(executor, 9);
  ASSERT_NO_FATAL_FAILURE(expect_numbers(packed, 0, kLong / kBatch));
  ASSERT_TRUE(packed.iterations.last);
  EXPECT_EQ((*(*packed.iterations.last)[0][0])[0].shape, Shape{3});
  const Packed none = pack(executor, 2, 3);  // of the shape of none of these
  EXPECT_TRUE(none.iterations.rows.empty() && none.iterations.last);
}

TEST(PackedIterations, EndBeforeAnErrorAndGoOnBehindIt) {
  Executor executor({graph_of({{"bad", true}})}, registry(), options());
  const Packed packed = pack(executor, 9);
  ASSERT_NO_FATAL_FAILURE(expect_numbers(packed, 0, kBad / kBatch));
  ASSERT_TRUE(packed.iterations.error);
  EXPECT_THROW(std::rethrow_exception(packed.iterations.error), Error);
  EXPECT_EQ(executor.delivered(), kBad / kBatch + 1);
  ASSERT_NO_FATAL_FAILURE(expect_numbers(pack(executor, 4), (kBad / kBatch + 1) * kBatch, 4));
}

TEST(PackedIterations, StatisticsMayBeAskedForMeanwhile) {
  Executor executor({graph_of({})}, registry(), options());
  std::atomic<bool> done = false;
  std::thread asking([&] {
    while (!done) EXPECT_FALSE(executor.statistics().empty());
  });
  ASSERT_NO_FATAL_FAILURE(expect_numbers(pack(executor, 2000), 0, 2000));
  done = true;
  asking.join();
}

TEST(PackedIterations, StopWhenClosed) {
  for (int i = 0; i < 20; ++i) {
    Executor executor({graph_of({})}, registry(), options());
    std::thread closing([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(100 * i));
      executor.close();
    });
    const Packed packed = pack(executor, 1 << 16);
    closing.join();
    ASSERT_TRUE(packed.iterations.error);
    ASSERT_NO_FATAL_FAILURE(expect_numbers(packed, 0, static_cast<int64_t>(packed.iterations.rows.size())));
  }
}

}  // namespace
}  // namespace headrace
