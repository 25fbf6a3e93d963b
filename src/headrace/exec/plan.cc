// Plan: making operators, cutting the graph into segments, finding what the shape pass has to compute.
#include "exec/plan.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <new>

namespace headrace {
namespace {

int int_arg(const OpSpec& spec, std::string_view name) {
  const int64_t value = spec.get_int(name);
  check_value(value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max(),
              "{}: {} does not fit into 32 bits", spec.about(name), value);
  return static_cast<int>(value);
}

SamplerOptions sampler_options(const OpSpec& spec, const Reader& reader, int batch_size, bool exact_epochs) {
  SamplerOptions options;
  options.num_samples = reader.size();
  options.num_shards = int_arg(spec, "num_shards");
  options.shard_id = int_arg(spec, "shard_id");
  options.stick_to_shard = spec.get_bool("stick_to_shard");
  options.pad_last_batch = exact_epochs || spec.get_bool("pad_last_batch");
  options.random_shuffle = spec.get_bool("random_shuffle");
  options.initial_fill = spec.get_int("initial_fill");
  options.global_shuffle = spec.get_bool("global_shuffle");
  if (spec.schema->find_arg("shuffle_after_epoch")) {
    options.shuffle_after_epoch = spec.get_bool("shuffle_after_epoch");
    options.shuffle_after_epoch_seed = reader.epoch_shuffle_seed();
  }
  options.seed = spec.seed;
  options.batch_size = batch_size;
  return options;
}

void add_unique(std::vector<int>& list, int value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

bool rewriting_from_environment() {
  const char* value = std::getenv("HEADRACE_REWRITE");
  const std::string_view name = value ? value : "on";
  check(name == "on" || name == "off", "HEADRACE_REWRITE: expected on or off, got {}", name);
  return name == "on";
}

}  // namespace

std::vector<int> PlanNode::uses() const {
  std::vector<int> values = inputs;
  values.insert(values.end(), arguments.begin(), arguments.end());
  if (scope >= 0) values.push_back(scope);
  return values;
}

Plan::Plan(const Graph& graph, const Registry& registry, std::shared_ptr<GroupState> group, int batch_size,
           const std::string& primary_reader, bool exact_epochs, const ReaderStarts& starts)
    : rewrites_(rewriting_from_environment()),
      graph_(graph.simplified(registry, rewrites_)),
      merged_graph_(graph.simplified(registry)),
      group_(std::move(group)),
      operators_(std::make_shared<std::vector<std::shared_ptr<Operator>>>()) {
  nodes_.reserve(graph_.nodes().size());
  for (size_t i = 0; i < graph_.nodes().size(); ++i) {
    make_node(registry, static_cast<int>(i), batch_size, exact_epochs, starts);
  }
  for (Edge edge : graph_.outputs()) outputs_.push_back(nodes_[edge.node].first_output + edge.output);
  make_segments();
  connect_segments();
  find_eager_nodes();
  find_writable_inputs();
  choose_primary(primary_reader);
}

void Plan::make_node(const Registry& registry, int number, int batch_size, bool exact_epochs,
                     const ReaderStarts& starts) {
  const Node& node = graph_.nodes()[number];
  PlanNode& plan = nodes_.emplace_back();
  plan.node = &node;
  plan.first_output = num_values();
  for (int i = 0; i < node.num_outputs; ++i) producer_.push_back(number);
  for (Edge edge : node.inputs) plan.inputs.push_back(nodes_[edge.node].first_output + edge.output);
  plan.spec.schema = registry.find(node.op);
  plan.spec.name = node.name;
  plan.spec.device = node.device;
  plan.spec.constants = node.args;
  for (const auto& [name, edge] : node.tensor_args) {
    const int value = nodes_[edge.node].first_output + edge.output;
    if (name == kScopeArgument) {
      plan.scope = value;
      continue;
    }
    plan.spec.tensor_args.push_back(name);
    plan.arguments.push_back(value);
  }
  plan.spec.num_inputs = static_cast<int>(node.inputs.size());
  plan.spec.num_outputs = node.num_outputs;
  plan.spec.seed = node.seed;
  plan.spec.batch_size = batch_size;
  plan.spec.group = group_;
  if (plan.spec.schema->is_fed()) {
    plan.kind = NodeKind::kFed;
    fed_nodes_.push_back(number);
    return;
  }
  try {
    plan.op = registry.create(plan.spec);
    operators_->push_back(plan.op);
    if (dynamic_cast<Reader*>(plan.op.get())) {
      make_reader(number, batch_size, exact_epochs, starts);
    } else if (dynamic_cast<BatchOperator*>(plan.op.get())) {
      plan.kind = NodeKind::kBatch;
    }
  } catch (...) {
    const Error error = current_error();
    throw Error(error.kind(), node_error_message(node, error.message()));
  }
}

void Plan::make_reader(int number, int batch_size, bool exact_epochs, const ReaderStarts& starts) {
  PlanNode& plan = nodes_[number];
  plan.kind = NodeKind::kReader;
  plan.reader = static_cast<int>(readers_.size());
  const auto& reader = static_cast<const Reader&>(*plan.op);
  const auto start = starts.find(plan.node->name);
  readers_.push_back(
      {plan.node->name, number,
       std::make_unique<Sampler>(sampler_options(plan.spec, reader, batch_size, exact_epochs), plan.spec.schema->name(),
                                 start == starts.end() ? std::nullopt : std::optional(start->second))});
}

void Plan::make_segments() {
  std::vector<int> depth(nodes_.size(), 0);  // batch operators on the longest way to the node
  std::map<int, int> sample_segment;         // of a depth
  for (size_t i = 0; i < nodes_.size(); ++i) {
    PlanNode& node = nodes_[i];
    if (node.kind == NodeKind::kFed) continue;
    for (int value : node.uses()) {
      const int from = producer_[value];
      depth[i] = std::max(depth[i], depth[from] + (nodes_[from].kind == NodeKind::kBatch ? 1 : 0));
    }
    if (node.kind == NodeKind::kBatch) {
      node.segment = static_cast<int>(segments_.size());
      Segment& segment = segments_.emplace_back();
      segment.is_batch = true;
      segment.lane = node.batch_op().lane();
    } else {
      const auto [it, is_new] = sample_segment.emplace(depth[i], static_cast<int>(segments_.size()));
      if (is_new) segments_.emplace_back();
      node.segment = it->second;
    }
    segments_[node.segment].depth = depth[i];
    segments_[node.segment].nodes.push_back(static_cast<int>(i));
  }
}

void Plan::connect_segments() {
  std::vector<std::vector<int>> waits_for(segments_.size());
  for (const PlanNode& node : nodes_) {
    if (node.kind == NodeKind::kFed) continue;
    for (int value : node.uses()) {
      const int from = nodes_[producer_[value]].segment;
      if (from == node.segment) continue;
      add_unique(segments_[node.segment].batches_in, value);
      if (from < 0) continue;
      add_unique(segments_[from].batches_out, value);
      add_unique(waits_for[node.segment], from);
    }
  }
  for (int value : outputs_) {
    const int from = nodes_[producer_[value]].segment;
    if (from >= 0) add_unique(segments_[from].batches_out, value);
  }
  for (size_t i = 0; i < segments_.size(); ++i) {
    segments_[i].waits_for = static_cast<int>(waits_for[i].size());
    for (int from : waits_for[i]) segments_[from].dependents.push_back(static_cast<int>(i));
  }
}

void Plan::find_eager_nodes() {
  // Backwards: users come before producers, so one sweep suffices.
  for (int i = static_cast<int>(nodes_.size()) - 1; i >= 0; --i) {
    const PlanNode& node = nodes_[i];
    if (node.kind != NodeKind::kSample) continue;
    const auto need_value = [&](int value) {
      PlanNode& from = nodes_[producer_[value]];
      if (from.segment == node.segment) from.eager = true;
    };
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const InputSpec& input = node.spec.schema->input_spec(static_cast<int>(k));
      if (input.infer_reads_data || (node.eager && !input.shape_only)) need_value(node.inputs[k]);
    }
    for (size_t k = 0; k < node.arguments.size(); ++k) {
      const ArgSpec* arg = node.spec.schema->find_arg(node.spec.tensor_args[k]);
      if (arg->shapes_output || node.eager) need_value(node.arguments[k]);
    }
  }
}

// A batch operator may change an input that was computed for it alone. Views share their bytes with others, and those
// of readers, sources and other batch operators may belong to files or to the program.
void Plan::find_writable_inputs() {
  std::vector<int> uses(producer_.size(), 0);
  for (int value : outputs_) ++uses[value];
  for (const PlanNode& node : nodes_) {
    for (int value : node.uses()) ++uses[value];
  }
  for (PlanNode& node : nodes_) {
    for (int value : node.inputs) {
      const PlanNode& from = nodes_[producer_[value]];
      const bool is_own =
          from.kind == NodeKind::kSample && !from.spec.schema->is_view() && !from.spec.schema->is_merge();
      node.writable.push_back(is_own && uses[value] == 1);
    }
  }
}

void Plan::choose_primary(const std::string& name) {
  if (name.empty()) return;
  for (size_t i = 0; i < readers_.size(); ++i) {
    if (readers_[i].name == name) primary_ = static_cast<int>(i);
  }
}

const PlanReader& Plan::reader(std::string_view name) const {
  for (const PlanReader& reader : readers_) {
    if (reader.name == name) return reader;
  }
  std::string names;
  for (const PlanReader& reader : readers_) names += (names.empty() ? "\"" : ", \"") + reader.name + '"';
  fail(ErrorKind::kRuntime, "the pipeline has no reader \"{}\"; it has: {}", name, names.empty() ? "none" : names);
}

}  // namespace headrace
