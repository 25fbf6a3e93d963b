// Rows of zeros in place of refused samples.
#include "exec/zero_rows.h"

#include <algorithm>
#include <cstring>

#include "core/convert.h"

namespace headrace {
namespace {

bool is_true(const Sample& predicate) {
  bool result = false;
  if (predicate.shape.ndim() != 0) return result;
  visit_dtype(predicate.dtype, AllTypes(), "predicate",
              [&]<typename T>() { result = convert<double>(*predicate.as<const T>()) != 0; });
  return result;
}

// Zeros are false: a condition that is zeroed with its row sends it to the `else` branch.
bool takes_first_branch(const PlanRun& run, const PlanNode& split, int slot) {
  const int argument = split.spec.tensor_index("predicate");
  if (argument < 0) return false;
  const int value = split.arguments[argument];
  const bool is_zeroed = run.plan->nodes()[run.plan->producer(value)].segment == split.segment;
  return !is_zeroed && is_true((*run.batches[value])[slot]);
}

// By value: whether a row that this segment zeroes has a sample there.
std::vector<bool> present_values(const PlanRun& run, const Segment& segment, int slot) {
  std::vector<bool> present(static_cast<size_t>(run.plan->num_values()), false);
  const auto is_present = [&](int value) { return present[value]; };
  for (int value : segment.batches_in) present[value] = run.batches[value]->has(slot);
  for (int number : segment.nodes) {
    const PlanNode& node = run.plan->nodes()[number];
    const auto& inputs = node.inputs;
    const bool has_inputs = node.spec.schema->is_merge() ? std::any_of(inputs.begin(), inputs.end(), is_present)
                                                         : std::all_of(inputs.begin(), inputs.end(), is_present);
    const bool here = has_inputs && std::all_of(node.arguments.begin(), node.arguments.end(), is_present) &&
                      (node.scope < 0 || present[node.scope]);
    for (int i = 0; i < node.num_outputs(); ++i) present[node.first_output + i] = here;
    if (here && node.spec.schema->is_split())
      present[node.first_output + (takes_first_branch(run, node, slot) ? 1 : 0)] = false;
  }
  return present;
}

}  // namespace

void ZeroRows::fill(PlanRun& run, const Segment& segment, const std::vector<RowChange>& changes) {
  for (int value : segment.batches_out) {
    // A refused sample may have fixed another type for a batch that nobody else is in.
    if (!remember(run, value) && !changes.empty()) run.batches[value] = run.new_batch(pool_);
  }
  for (const RowChange& change : changes) {
    const std::vector<bool> present = present_values(run, segment, change.slot);
    for (int value : segment.batches_out) {
      if (!present[value]) continue;
      const Sample like = pattern(run, value);
      void* data = run.batches[value]->claim(change.slot, like);
      if (like.bytes() > 0) std::memset(data, 0, like.bytes());
    }
  }
}

// False for a batch without a sample.
bool ZeroRows::remember(const PlanRun& run, int value) {
  const Batch& batch = *run.batches[value];
  for (int slot = 0; slot < run.size; ++slot) {
    if (!batch.has(slot)) continue;
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] = patterns_.try_emplace({run.number, value});
    if (is_new || run.iteration->number < known->second.iteration) {
      known->second.iteration = run.iteration->number;
      known->second.sample.describe_as(batch[slot]);
      known->second.sample.source = Source();
    }
    return true;
  }
  return false;
}

Sample ZeroRows::pattern(const PlanRun& run, int value) const {
  const Batch& batch = *run.batches[value];
  Sample like;
  for (int slot = 0; slot < run.size; ++slot) {
    if (!batch.has(slot)) continue;
    like.describe_as(batch[slot]);
    like.source = Source();
    return like;
  }
  const std::lock_guard lock(mutex_);
  const auto known = patterns_.find({run.number, value});
  check(known != patterns_.end(),
        "on_error=\"zero\": no good sample of \"{}\" has come yet, so the shape of the zeros is unknown",
        run.plan->nodes()[run.plan->producer(value)].node->name);
  return known->second.sample;
}

}  // namespace headrace
