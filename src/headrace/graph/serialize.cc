// Graph as JSON (headrace-graph, version 1), as Graphviz source, and as a hash.
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "graph/graph.h"

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kVersion = 1;

// JSON has no infinities and no NaN: such floats are written as the strings "inf", "-inf", "nan".
Json float_to_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

struct ToJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(double value) const { return float_to_json(value); }
  Json operator()(const std::vector<double>& list) const {
    Json json = Json::array();
    for (double value : list) json.push_back(float_to_json(value));
    return json;
  }
  template <typename T> Json operator()(const T& value) const { return value; }
};

double float_from_json(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const auto text = json.get<std::string>();
  return text == "nan" ? NAN : text == "inf" ? INFINITY : -INFINITY;
}

ArgValue from_json_value(const Json& json, ArgType type) {
  switch (type) {
    case ArgType::kBool: return json.get<bool>();
    case ArgType::kInt:
    case ArgType::kDType:
    case ArgType::kImageType:
    case ArgType::kInterpType: return json.get<int64_t>();
    case ArgType::kFloat: return float_from_json(json);
    case ArgType::kString:
    case ArgType::kLayout: return json.get<std::string>();
    case ArgType::kBoolList: return json.get<std::vector<bool>>();
    case ArgType::kIntList:
    case ArgType::kDTypeList: return json.get<std::vector<int64_t>>();
    case ArgType::kStringList:
    case ArgType::kLayoutList: return json.get<std::vector<std::string>>();
    case ArgType::kFloatList: {
      std::vector<double> list;
      for (const Json& value : json) list.push_back(float_from_json(value));
      return list;
    }
  }
  fail(ErrorKind::kInternal, "argument of unknown type");
}

Json to_json(Edge edge) { return Json::array({edge.node, edge.output}); }
Edge edge_from(const Json& json) { return {json.at(0).get<int>(), json.at(1).get<int>()}; }

Json to_json(const Node& node) {
  Json json = {{"op", node.op}, {"name", node.name}, {"device", node.device}, {"seed", node.seed}};
  json["inputs"] = Json::array();
  for (Edge edge : node.inputs) json["inputs"].push_back(to_json(edge));
  json["tensor_args"] = Json::object();
  for (const auto& [name, edge] : node.tensor_args) json["tensor_args"][name] = to_json(edge);
  json["args"] = Json::object();
  for (const auto& [name, value] : node.args) json["args"][name] = std::visit(ToJson(), value);
  json["display_name"] = node.display_name;
  json["origin"] = node.origin;
  return json;
}

Node node_from(const Registry& registry, const Json& json) {
  Node node;
  node.op = json.at("op");
  node.name = json.at("name");
  node.device = json.at("device");
  node.seed = json.at("seed");
  for (const Json& edge : json.at("inputs")) node.inputs.push_back(edge_from(edge));
  for (const auto& [name, edge] : json.at("tensor_args").items()) node.tensor_args.emplace_back(name, edge_from(edge));
  const Schema& schema = registry.get(node.op);
  for (const auto& [name, value] : json.at("args").items()) {
    const ArgSpec* spec = schema.find_arg(name);
    if (!spec) fail(ErrorKind::kKey, "Argument \"{}\" is not defined for operator \"{}\".", name, node.op);
    node.args[name] = from_json_value(value, spec->type);
  }
  node.display_name = json.value("display_name", "");
  node.origin = json.value("origin", "");
  return node;
}

// Arguments that say where data lies and is kept, who reads which part or which number a function got, not what comes
// out of it.
constexpr std::array<std::string_view, 16> kPlacement = {"function",   "shard_id",   "num_shards",      "path",
                                                         "file_root",  "files",      "file_list",       "paths",
                                                         "uris",       "index_path", "labels",          "dont_use_mmap",
                                                         "cache_size", "cache_type", "cache_threshold", "cache_debug"};

uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string Graph::to_json() const {
  Json json = {{"format", "headrace-graph"}, {"version", kVersion}};
  json["nodes"] = Json::array();
  for (const Node& node : nodes_) json["nodes"].push_back(headrace::to_json(node));
  json["outputs"] = Json::array();
  for (Edge edge : outputs_) json["outputs"].push_back(headrace::to_json(edge));
  return json.dump();
}

Graph Graph::from_json(const Registry& registry, std::string_view text) {
  Graph graph;
  try {
    const Json json = Json::parse(text);
    check(json.value("format", "") == "headrace-graph", "serialized pipeline: not a headrace graph");
    check(json.value("version", 0) == kVersion, "serialized pipeline: version {} is unknown, this headrace reads {}",
          json.value("version", 0), kVersion);
    for (const Json& node : json.at("nodes")) graph.add(registry, node_from(registry, node));
    std::vector<Edge> outputs;
    for (const Json& edge : json.at("outputs")) outputs.push_back(edge_from(edge));
    graph.set_outputs(std::move(outputs));
  } catch (const Json::exception& error) {
    fail(ErrorKind::kRuntime, "serialized pipeline: damaged: {}", error.what());
  }
  graph.validate(registry);
  return graph;
}

std::string Graph::to_dot() const {
  std::string dot = "digraph pipeline {\n  rankdir=TB;\n  node [shape=box, fontname=Helvetica];\n";
  for (size_t i = 0; i < nodes_.size(); ++i) {
    std::string label = escaped(nodes_[i].op + " (" + nodes_[i].device + ")");
    for (const auto& [name, value] : nodes_[i].args) label += "\\n" + escaped(name + " = " + to_string(value));
    dot += fmt::format("  n{} [label=\"{}\"];\n", i, label);
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (Edge edge : nodes_[i].inputs) dot += fmt::format("  n{} -> n{};\n", edge.node, i);
    for (const auto& [name, edge] : nodes_[i].tensor_args) {
      dot += fmt::format("  n{} -> n{} [style=dashed, label=\"{}\"];\n", edge.node, i, escaped(name));
    }
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    dot += fmt::format("  out{0} [shape=ellipse, label=\"output {0}\"];\n  n{1} -> out{0};\n", i, outputs_[i].node);
  }
  return dot + "}\n";
}

std::string Graph::hash() const {
  Json json = Json::array();
  for (const Node& node : nodes_) {
    Json entry = headrace::to_json(node);
    for (const char* cosmetic : {"name", "display_name", "origin", "seed"}) entry.erase(cosmetic);
    for (std::string_view placement : kPlacement) entry["args"].erase(std::string(placement));
    json.push_back(std::move(entry));
  }
  for (Edge edge : outputs_) json.push_back(headrace::to_json(edge));
  return fmt::format("{:016x}", fnv1a(json.dump()));
}

}  // namespace headrace
