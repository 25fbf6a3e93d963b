// Graph: construction and checks.
#include "graph/graph.h"

#include <algorithm>

namespace headrace {
namespace {

void check_inputs(const Node& node, const Schema& schema) {
  const int count = static_cast<int>(node.inputs.size());
  if (count >= schema.min_inputs() && count <= schema.max_inputs()) return;
  if (schema.min_inputs() == schema.max_inputs()) {
    fail(ErrorKind::kValue, "Operator `{}` expects {} inputs, but {} were given", node.display_name,
         schema.min_inputs(), count);
  }
  fail(ErrorKind::kValue, "Operator `{}` expects from {} to {} inputs, but {} were given", node.display_name,
       schema.min_inputs(), schema.max_inputs(), count);
}

// Converts the arguments to the schema's types, and spells old names the new way.
void normalize_args(Node& node, const Schema& schema) {
  ArgMap args;
  for (auto& [name, value] : node.args) {
    const ArgSpec* spec = schema.find_arg(name);
    if (!spec) {
      fail(ErrorKind::kKey, "Argument \"{}\" is not defined for operator \"{}\".", name, node.display_name);
    }
    ArgValue converted = convert_arg(value, spec->type, "[" + schema.name() + "] " + name);
    if (std::holds_alternative<std::monostate>(converted)) continue;
    args[spec->renamed_to.empty() ? name : spec->renamed_to] = std::move(converted);
  }
  node.args = std::move(args);
}

void check_args(const Node& node, const Schema& schema) {
  for (const auto& [name, edge] : node.tensor_args) {
    if (name == kScopeArgument) continue;
    const ArgSpec* spec = schema.find_arg(name);
    if (!spec) fail(ErrorKind::kKey, "Argument \"{}\" is not defined for operator \"{}\".", name, node.display_name);
    if (spec->per_sample == PerSample::kNever) {
      fail(ErrorKind::kType, "The argument \"{}\" of operator \"{}\" takes no DataNode: expected {}", name,
           node.display_name, arg_type_name(spec->type));
    }
  }
  for (const ArgSpec& spec : schema.args()) {
    if (!spec.required || node.args.contains(spec.name)) continue;
    const bool is_node = std::any_of(node.tensor_args.begin(), node.tensor_args.end(),
                                     [&](const auto& arg) { return arg.first == spec.name; });
    check(is_node, "Operator \"{}\": the required argument \"{}\" is missing", node.display_name, spec.name);
  }
}

}  // namespace

int Graph::add(const Registry& registry, Node node) {
  const Schema& schema = registry.get(node.op);
  if (node.display_name.empty()) node.display_name = "headrace.fn." + node.op;
  check_inputs(node, schema);
  for (auto& [name, edge] : node.tensor_args) {
    const ArgSpec* spec = schema.find_arg(name);
    if (spec && !spec->renamed_to.empty()) name = spec->renamed_to;
  }
  normalize_args(node, schema);
  check_args(node, schema);
  const auto& devices = schema.devices();
  if (std::find(devices.begin(), devices.end(), node.device) == devices.end()) {
    std::string all;
    for (const auto& device : devices) all += (all.empty() ? "" : ", ") + device;
    fail(ErrorKind::kRuntime, "Operator `{}` has no device \"{}\"; it has: {}", node.display_name, node.device, all);
  }
  node.num_outputs = schema.num_outputs(node.args);
  check(find(node.name) < 0, "Two operators of the pipeline have the name \"{}\"", node.name);
  nodes_.push_back(std::move(node));
  return static_cast<int>(nodes_.size()) - 1;
}

void Graph::set_outputs(std::vector<Edge> outputs) { outputs_ = std::move(outputs); }

void Graph::set_seeds(const std::vector<uint64_t>& seeds) {
  check(seeds.size() == nodes_.size(), "graph: {} seeds for {} nodes", seeds.size(), nodes_.size());
  for (size_t i = 0; i < seeds.size(); ++i) nodes_[i].seed = seeds[i];
}

int Graph::find(std::string_view name) const {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::string_view Graph::device_of(Edge edge) const {
  const std::string& device = nodes_[edge.node].device;
  return device == "cpu" ? "cpu" : "gpu";
}

void Graph::validate(const Registry& registry) const {
  // Nodes stand behind those that they take data from, so that there are no cycles.
  const auto check_edge = [&](std::string_view who, int before, Edge edge, std::string_view what) {
    const bool exists =
        edge.node >= 0 && edge.node < before && edge.output >= 0 && edge.output < nodes_[edge.node].num_outputs;
    check(exists, "graph: {} of {} refers to output {} of node {}, which does not exist or comes later", what, who,
          edge.output, edge.node);
  };
  for (size_t number = 0; number < nodes_.size(); ++number) {
    const Node& node = nodes_[number];
    const Schema* schema = registry.find(node.op);
    const int before = static_cast<int>(number);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      check_edge(node.name, before, node.inputs[i], "an input");
      const bool moves_data = node.op == "_to_cpu" || schema->input_spec(static_cast<int>(i)).shape_only;
      if (node.device == "gpu" || moves_data || device_of(node.inputs[i]) == "cpu") continue;
      fail(
          ErrorKind::kRuntime, "{}",
          node_error_message(node, fmt::format("input {} is on the GPU, but the operator runs on the {}; a result of a "
                                               "GPU operator comes back to the CPU by .cpu()",
                                               i, node.device == "mixed" ? "CPU first (mixed)" : "CPU")));
    }
    for (const auto& [name, edge] : node.tensor_args) {
      check_edge(node.name, before, edge, name);
      check(device_of(edge) == "cpu" || name == kScopeArgument, "{}",
            node_error_message(node, fmt::format("the argument \"{}\" must be computed on the CPU", name)));
    }
  }
  for (Edge edge : outputs_) check_edge("the pipeline", static_cast<int>(nodes_.size()), edge, "an output");
}

std::string node_error_message(const Node& node, std::string_view reason) {
  std::string device = node.device;
  for (char& c : device) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string text = fmt::format("Error in {} operator `{}`", device, node.display_name);
  if (!node.origin.empty()) {
    text += ",\nwhich was used in the pipeline definition with the following traceback:\n\n" + node.origin + "\n";
  } else {
    text += ", ";
  }
  return text + fmt::format("encountered:\n\n{}", reason);
}

}  // namespace headrace
