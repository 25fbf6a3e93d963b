// Graph: nodes with their arguments and edges, as the user wrote them; checks, rewriting, hash, JSON and drawing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/registry.h"

namespace headrace {

// One output of one node.
struct Edge {
  int node = -1;
  int output = 0;

  friend auto operator<=>(const Edge&, const Edge&) = default;
};

// Name of a tensor argument that every operator has: a value of the branch that the node stands in. The node is left
// out for samples that the value is absent for. Only nodes without inputs need it.
inline constexpr std::string_view kScopeArgument = "_scope";

struct Node {
  std::string op;    // name of the schema
  std::string name;  // of the instance, unique in the graph
  std::string device = "cpu";
  int num_outputs = 1;
  std::vector<Edge> inputs;
  std::vector<std::pair<std::string, Edge>> tensor_args;
  ArgMap args;  // of the schema's types
  uint64_t seed = 0;
  std::string display_name;  // the Python function, for messages: "headrace.fn.crop"
  std::string origin;        // where the user called it, formatted like a traceback
};

class Graph {
 public:
  // Appends a node and returns its number. Checks it against the schema: number of inputs, arguments, devices.
  int add(const Registry& registry, Node node);
  void set_outputs(std::vector<Edge> outputs);
  // One seed per node, in order.
  void set_seeds(const std::vector<uint64_t>& seeds);

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Edge>& outputs() const { return outputs_; }
  // The node of that instance name, or -1.
  int find(std::string_view name) const;
  // "cpu" or "gpu": where an edge's data is, logically.
  std::string_view device_of(Edge edge) const;

  // Whole-graph checks: edges exist, no cycle, no GPU data into a CPU operator. Errors name the node and its origin.
  void validate(const Registry& registry) const;

  // The same graph without nodes that nothing needs, equal nodes merged, in topological order. Seeds stay, so random
  // values don't change. `merge`: else equal nodes stay.
  Graph simplified(const Registry& registry, bool merge = true) const;

  std::string to_json() const;
  static Graph from_json(const Registry& registry, std::string_view text);
  // Graphviz source: one box per node with its arguments.
  std::string to_dot() const;
  // A hash of what determines the output, in hexadecimal. Not counted: shards, paths, file lists.
  std::string hash() const;

 private:
  std::vector<Node> nodes_;
  std::vector<Edge> outputs_;
};

// What a pipeline raises for an error inside a node: the operator, the user's line, then the reason.
std::string node_error_message(const Node& node, std::string_view reason);

}  // namespace headrace
