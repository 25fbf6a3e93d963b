// Graph: argument checks, device rules, rewriting, JSON round trip, hash.
#include "graph/graph.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headrace {
namespace {

class Dummy : public Operator {
 public:
  explicit Dummy(const OpSpec&) {}
};

const Registry& registry() {
  static const Registry shared = [] {
    Registry r;
    r.add<Dummy>(Schema("source").outputs(2).random().devices({"cpu"}));
    r.add<Dummy>(Schema("scale")
                     .input("data", {.layouts = {"HWC"}})
                     .arg("factor", ArgType::kFloat, 1.0, "Factor.", PerSample::kAllowed)
                     .arg("axes", ArgType::kIntList, {}, "Axes.")
                     .required_arg("mode", ArgType::kString, "Mode.")
                     .deprecated_arg("method", "mode"));
    r.add<Dummy>(Schema("_to_gpu").input("data").devices({"gpu"}).view());
    r.add<Dummy>(Schema("_to_cpu").input("data").devices({"cpu"}).view());
    r.add<Dummy>(Schema("print").input("data").side_effects());
    return r;
  }();
  return shared;
}

Node node(std::string op, std::vector<Edge> inputs = {}, ArgMap args = {}) {
  static int count = 0;
  Node n;
  n.op = std::move(op);
  n.name = n.op + std::to_string(count++);
  n.inputs = std::move(inputs);
  n.args = std::move(args);
  return n;
}

ErrorKind kind_of(const std::function<void()>& action, std::string* message = nullptr) {
  try {
    action();
  } catch (const Error& error) {
    if (message) *message = error.message();
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return ErrorKind::kInternal;
}

TEST(Graph, ArgumentsAreConvertedToTheSchemasTypes) {
  Graph graph;
  graph.add(registry(), node("source"));
  graph.add(registry(), node("scale", {{0, 0}}, {{"factor", int64_t{3}}, {"axes", 2.7}, {"method", std::string("x")}}));
  const ArgMap& args = graph.nodes()[1].args;
  EXPECT_EQ(args.at("factor"), ArgValue(3.0));
  EXPECT_EQ(args.at("axes"), ArgValue(std::vector<int64_t>{2}));
  EXPECT_EQ(args.at("mode"), ArgValue(std::string("x")));  // under its new name
  EXPECT_FALSE(args.contains("method"));
}

TEST(Graph, BadNodesAreRefused) {
  Graph graph;
  graph.add(registry(), node("source"));
  std::string message;
  const auto add = [&](Node n) { return [&graph, n] { graph.add(registry(), n); }; };
  EXPECT_EQ(kind_of(add(node("nothing"))), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of(add(node("scale", {}, {{"mode", std::string("x")}})), &message), ErrorKind::kValue);
  EXPECT_NE(message.find("expects 1 inputs, but 0"), std::string::npos) << message;
  EXPECT_EQ(kind_of(add(node("scale", {{0, 0}})), &message), ErrorKind::kRuntime);
  EXPECT_NE(message.find("\"mode\" is missing"), std::string::npos) << message;
  EXPECT_EQ(kind_of(add(node("scale", {{0, 0}}, {{"sizes", int64_t{1}}})), &message), ErrorKind::kKey);
  EXPECT_NE(message.find("\"sizes\" is not defined"), std::string::npos) << message;
  EXPECT_EQ(kind_of(add(node("scale", {{0, 0}}, {{"mode", int64_t{1}}}))), ErrorKind::kType);
  EXPECT_EQ(kind_of(add(node("scale", {{0, 0}}, {{"factor", std::string("a")}}))), ErrorKind::kType);
  Node with_node = node("scale", {{0, 0}}, {{"mode", std::string("x")}});
  with_node.tensor_args = {{"axes", {0, 0}}};
  EXPECT_EQ(kind_of(add(with_node)), ErrorKind::kType);
  Node on_gpu = node("source");
  on_gpu.device = "gpu";
  EXPECT_EQ(kind_of(add(on_gpu)), ErrorKind::kRuntime);
  Node twin = node("source");
  twin.name = graph.nodes()[0].name;
  EXPECT_EQ(kind_of(add(twin)), ErrorKind::kRuntime);
}

TEST(Graph, GpuDataIntoACpuOperatorIsAnError) {
  Graph graph;
  graph.add(registry(), node("source"));
  Node move = node("_to_gpu", {{0, 0}});
  move.device = "gpu";
  graph.add(registry(), move);
  graph.add(registry(), node("_to_cpu", {{1, 0}}));
  graph.set_outputs({{2, 0}});
  EXPECT_NO_THROW(graph.validate(registry()));
  graph.add(registry(), node("scale", {{1, 0}}, {{"mode", std::string("x")}}));
  std::string message;
  EXPECT_EQ(kind_of([&] { graph.validate(registry()); }, &message), ErrorKind::kRuntime);
  EXPECT_NE(message.find("on the GPU"), std::string::npos) << message;
}

TEST(Graph, RewritingDropsDeadNodesAndMergesEqualOnes) {
  Graph graph;
  graph.add(registry(), node("source"));                                         // dead
  graph.add(registry(), node("source"));                                         // 1
  graph.add(registry(), node("source"));                                         // 2, equal but random: stays
  graph.add(registry(), node("scale", {{1, 0}}, {{"mode", std::string("x")}}));  // 3
  graph.add(registry(), node("scale", {{1, 0}}, {{"mode", std::string("x")}}));  // 4 = 3
  graph.add(registry(), node("scale", {{1, 0}}, {{"mode", std::string("y")}}));  // 5
  graph.add(registry(), node("scale", {{2, 0}}, {{"mode", std::string("x")}, {"preserve", true}}));  // 6, kept
  graph.add(registry(), node("print", {{5, 0}}));                                                    // 7, kept
  graph.set_outputs({{3, 0}, {4, 0}});
  const Graph simple = graph.simplified(registry());
  ASSERT_EQ(simple.nodes().size(), 6u);
  EXPECT_EQ(simple.outputs()[0], simple.outputs()[1]);
  EXPECT_EQ(simple.find(graph.nodes()[0].name), -1);
  for (int kept : {1, 2, 3, 5, 6, 7}) EXPECT_GE(simple.find(graph.nodes()[kept].name), 0) << kept;
  EXPECT_EQ(simple.simplified(registry()).to_json(), simple.to_json());
}

TEST(Graph, JsonRoundTripKeepsEverything) {
  Graph graph;
  graph.add(registry(), node("source"));
  Node n = node("scale", {{0, 1}},
                {{"mode", std::string("quote \" and ü")}, {"factor", INFINITY}, {"axes", std::vector<int64_t>{1, 2}}});
  n.seed = ~uint64_t{0};
  n.origin = "  File \"x.py\", line 3\n";
  graph.add(registry(), n);
  graph.set_outputs({{1, 0}});
  const std::string json = graph.to_json();
  const Graph back = Graph::from_json(registry(), json);
  EXPECT_EQ(back.to_json(), json);
  EXPECT_EQ(back.nodes()[1].args, graph.nodes()[1].args);
  EXPECT_EQ(back.nodes()[1].seed, n.seed);
  for (size_t cut = 0; cut < json.size(); cut += 11) {
    EXPECT_THROW(Graph::from_json(registry(), json.substr(0, cut)), Error) << cut;
  }
}

TEST(Graph, TheHashFollowsWhatDecidesTheOutput) {
  const auto hash = [](double factor, uint64_t seed, std::string name) {
    Graph graph;
    graph.add(registry(), node("source"));
    Node n = node("scale", {{0, 0}}, {{"mode", std::string("x")}, {"factor", factor}});
    n.seed = seed;
    n.name = std::move(name);
    graph.add(registry(), n);
    graph.set_outputs({{1, 0}});
    return graph.hash();
  };
  EXPECT_EQ(hash(1, 1, "a"), hash(1, 2, "b"));
  EXPECT_NE(hash(1, 1, "a"), hash(2, 1, "a"));
}

}  // namespace
}  // namespace headrace
