// Plan: a graph prepared for running: its operators, and the segments that they run in.
//
// Note [segments]: sample operators that don't wait for a batch operator between them form one sample segment, in
// which a task takes one sample through all of them. Each batch operator is a segment of its own. A value that leaves
// its segment is a batch; all others live in the worker's arena. Fed nodes belong to no segment: their batches are
// there when the iteration starts.
//
// Note [rewriting]: the environment variable HEADRACE_REWRITE=off makes plans compute every needed node by itself and
// as a whole. The values are the same: it shows what rewriting does, and whether a fault is one of it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exec/sampler.h"
#include "graph/graph.h"

namespace headrace {

enum class NodeKind { kSample, kReader, kBatch, kFed };

struct PlanNode {
  const Node* node = nullptr;
  NodeKind kind = NodeKind::kSample;
  OpSpec spec;
  std::shared_ptr<Operator> op;
  std::vector<int> inputs;     // values
  std::vector<int> arguments;  // values, in the order of spec.tensor_args
  int scope = -1;              // value whose absence leaves the node out; -1: none
  int first_output = 0;        // value of output 0; the others follow
  int segment = -1;            // -1: fed
  int reader = -1;             // number among the plan's readers
  std::vector<bool> writable;  // by input: BatchContext::writable
  // Runs in the shape pass, because the shape of something behind it depends on its values.
  bool eager = false;

  const SampleOperator& sample_op() const { return static_cast<const SampleOperator&>(*op); }
  const BatchOperator& batch_op() const { return static_cast<const BatchOperator&>(*op); }
  int num_outputs() const { return node->num_outputs; }
  // All values that the node depends on.
  std::vector<int> uses() const;
};

struct Segment {
  bool is_batch = false;  // one batch operator; else sample operators
  int depth = 0;          // batch operators on the longest way to it
  Lane lane = Lane::kWorker;
  std::vector<int> nodes;        // in topological order
  std::vector<int> batches_in;   // values made by others that its nodes read
  std::vector<int> batches_out;  // values of its nodes that others or the pipeline's user read
  int waits_for = 0;             // segments that must be complete before it starts
  std::vector<int> dependents;   // segments that wait for this one
};

struct PlanReader {
  std::string name;
  int node = 0;
  std::unique_ptr<Sampler> sampler;
};

// What readers begin with instead of a whole epoch, by instance name.
using ReaderStarts = std::map<std::string, Remainder>;

class Plan {
 public:
  // `exact_epochs`: see ExecutorOptions.
  // `group`: what the operators share with those of other plans.
  Plan(const Graph& graph, const Registry& registry, std::shared_ptr<GroupState> group, int batch_size,
       const std::string& primary_reader, bool exact_epochs, const ReaderStarts& starts = {});

  const Graph& graph() const { return graph_; }
  // With equal nodes merged whether this plan does so or not: what checkpoints know it by.
  const Graph& merged_graph() const { return merged_graph_; }
  // Whether work is saved: equal nodes merged, values computed in the part that is needed. See Note [rewriting].
  bool rewrites() const { return rewrites_; }
  const std::vector<PlanNode>& nodes() const { return nodes_; }
  const std::vector<Segment>& segments() const { return segments_; }
  const std::vector<PlanReader>& readers() const { return readers_; }
  const std::vector<int>& fed_nodes() const { return fed_nodes_; }
  const std::vector<int>& outputs() const { return outputs_; }  // values
  int num_values() const { return static_cast<int>(producer_.size()); }
  int producer(int value) const { return producer_[value]; }
  // The reader whose positions key random numbers; null without readers.
  const PlanReader* primary() const { return readers_.empty() ? nullptr : &readers_[primary_]; }
  const PlanReader& reader(std::string_view name) const;
  // Operators of the plan, for batches that point to their memory or names.
  std::shared_ptr<const void> keep_alive() const { return operators_; }

 private:
  void make_node(const Registry& registry, int number, int batch_size, bool exact_epochs, const ReaderStarts& starts);
  void make_reader(int number, int batch_size, bool exact_epochs, const ReaderStarts& starts);
  void make_segments();
  void connect_segments();
  void find_eager_nodes();
  void find_writable_inputs();
  void choose_primary(const std::string& name);

  bool rewrites_;
  Graph graph_;
  Graph merged_graph_;
  std::shared_ptr<GroupState> group_;
  std::vector<PlanNode> nodes_;
  std::vector<int> producer_;  // value -> node
  std::vector<Segment> segments_;
  std::vector<PlanReader> readers_;
  std::vector<int> fed_nodes_;
  std::vector<int> outputs_;
  int primary_ = 0;
  std::shared_ptr<std::vector<std::shared_ptr<Operator>>> operators_;
};

}  // namespace headrace
