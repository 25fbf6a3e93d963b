// Graph rewriting: nodes that nothing needs go, equal nodes become one, the order becomes topological.
#include <algorithm>
#include <bit>
#include <map>

#include "graph/graph.h"

namespace headrace {
namespace {

std::vector<Edge> all_edges(const Node& node) {
  std::vector<Edge> edges = node.inputs;
  for (const auto& [name, edge] : node.tensor_args) edges.push_back(edge);
  return edges;
}

// Nodes that an output or a kept node needs, inputs before users. A cycle is an error.
class Order {
 public:
  Order(const Graph& graph, const Registry& registry) : graph_(graph), state_(graph.nodes().size(), kNew) {
    // In the user's order, so that sources are called in the order in which they were written.
    std::vector<bool> needed(graph.nodes().size(), false);
    for (Edge edge : graph.outputs()) mark(needed, edge.node);
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
      if (registry.find(graph.nodes()[i].op)->is_kept(graph.nodes()[i].args)) mark(needed, static_cast<int>(i));
    }
    for (size_t i = 0; i < needed.size(); ++i) {
      if (needed[i]) visit(static_cast<int>(i));
    }
  }
  const std::vector<int>& nodes() const { return order_; }

 private:
  enum State { kNew, kOpen, kDone };

  void mark(std::vector<bool>& needed, int node) {
    if (needed[node]) return;
    needed[node] = true;
    for (Edge edge : all_edges(graph_.nodes()[node])) mark(needed, edge.node);
  }
  void visit(int node) {
    if (state_[node] == kDone) return;
    check(state_[node] != kOpen, "the graph has a cycle through \"{}\"", graph_.nodes()[node].name);
    state_[node] = kOpen;
    for (Edge edge : all_edges(graph_.nodes()[node])) visit(edge.node);
    state_[node] = kDone;
    order_.push_back(node);
  }

  const Graph& graph_;
  std::vector<State> state_;
  std::vector<int> order_;
};

bool same_bits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

// == of doubles doesn't tell -0 from 0.
bool same(const ArgValue& a, const ArgValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* x = std::get_if<double>(&a)) return same_bits(*x, std::get<double>(b));
  if (const auto* x = std::get_if<std::vector<double>>(&a)) {
    const auto& y = std::get<std::vector<double>>(b);
    return std::equal(x->begin(), x->end(), y.begin(), y.end(), same_bits);
  }
  return a == b;
}

bool same(const ArgMap& a, const ArgMap& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first && same(x.second, y.second);
         });
}

bool same(const Node& a, const Node& b) {
  return a.op == b.op && a.device == b.device && a.inputs == b.inputs && a.tensor_args == b.tensor_args &&
         same(a.args, b.args) && a.num_outputs == b.num_outputs;
}

}  // namespace

Graph Graph::simplified(const Registry& registry, bool merge) const {
  Graph result;
  std::vector<int> renumbered(nodes_.size(), -1);
  const auto move = [&](Edge edge) { return Edge{renumbered[edge.node], edge.output}; };
  const Order order(*this, registry);
  for (int old : order.nodes()) {
    Node node = nodes_[old];
    for (Edge& edge : node.inputs) edge = move(edge);
    for (auto& [name, edge] : node.tensor_args) edge = move(edge);
    const Schema& schema = *registry.find(node.op);
    const bool mergeable = merge && !schema.is_never_merged() && !schema.is_kept(node.args);
    const auto twin = std::find_if(result.nodes_.begin(), result.nodes_.end(),
                                   [&](const Node& other) { return mergeable && same(node, other); });
    renumbered[old] = static_cast<int>(twin - result.nodes_.begin());
    if (twin == result.nodes_.end()) result.nodes_.push_back(std::move(node));
  }
  for (Edge edge : outputs_) result.outputs_.push_back(move(edge));
  return result;
}

}  // namespace headrace
