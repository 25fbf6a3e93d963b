// SampleFrame: the three passes of a task.
#include "exec/sample_frame.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

namespace headrace {
namespace {

constexpr int64_t kTimedTaskEvery = 64;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What is in memory of a sample that may be a region.
size_t stored_bytes(const Sample& sample) {
  return sample.region ? sample.region->extent().volume() * dtype_size(sample.dtype) : sample.bytes();
}

// Its slot in a batch, null for a sample that stays here.
void move_to_slot(Sample& sample, void* slot) {
  if (!slot || slot == sample.data) return;
  if (sample.bytes() > 0) std::memcpy(slot, sample.data, sample.bytes());
  sample.data = slot;
}

[[noreturn]] void refuse_layout(const Schema& schema, int input, const Sample& sample,
                                const std::vector<Layout>& allowed) {
  std::string list;
  for (const Layout& layout : allowed) list += (list.empty() ? "\"" : ", \"") + std::string(layout.str()) + '"';
  if (sample.layout.empty()) {
    fail(ErrorKind::kValue, "[{}] input {}: the number of dimensions {} does not match any of the allowed layouts: {}",
         schema.name(), input, sample.shape.ndim(), list);
  }
  fail(ErrorKind::kValue, "[{}] input {}: the layout \"{}\" does not match any of the allowed layouts: {}",
       schema.name(), input, sample.layout, list);
}

}  // namespace

SampleFrame::SampleFrame(const Plan& plan, const Segment& segment, Ref<HostPool> pool)
    : plan_(plan),
      segment_(segment),
      arena_(std::move(pool)),
      values_(static_cast<size_t>(plan.num_values())),
      leaves_(values_.size(), false),
      users_(values_.size(), 0),
      slots_(values_.size(), nullptr),
      asked_(values_.size(), Ask::kNothing),
      regions_(values_.size()),
      counters_(std::make_unique<NodeCounters[]>(segment.nodes.size())) {
  for (int value : segment.batches_out) leaves_[value] = true;
  steps_.reserve(segment.nodes.size());  // contexts point into the steps
  for (int number : segment.nodes) make_step(number);
  find_needed_steps();
}

void SampleFrame::find_needed_steps() {
  std::vector<bool> read(values_.size(), false);
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const PlanNode& node = *step->node;
    step->needed = !plan_.rewrites() || node.spec.schema->is_kept(node.node->args);
    for (int i = 0; i < node.num_outputs(); ++i) {
      step->needed = step->needed || leaves_[node.first_output + i] || read[node.first_output + i];
    }
    if (!step->needed) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.spec.schema->input_spec(static_cast<int>(i)).shape_only) read[node.inputs[i]] = true;
    }
    for (int value : node.arguments) read[value] = true;
  }
}

void SampleFrame::make_step(int number) {
  const PlanNode& node = plan_.nodes()[number];
  Step& step = steps_.emplace_back();
  step.node = &node;
  step.number = number;
  step.is_view = node.spec.schema->is_view();
  step.ctx.arena_ = &arena_;
  step.relabelled.resize(node.inputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    step.ctx.inputs_.push_back(&values_[node.inputs[i]]);
    ++users_[node.inputs[i]];
    auto& layouts = step.layouts.emplace_back();
    for (const std::string& layout : node.spec.schema->input_spec(static_cast<int>(i)).layouts) {
      layouts.emplace_back(std::string_view(layout));
    }
  }
  for (int value : node.arguments) {
    step.ctx.arguments_.push_back(&values_[value]);
    ++users_[value];
  }
  has_regions_ = has_regions_ || (plan_.rewrites() && node.sample_op().writes_regions());
  for (int i = 0; i < node.num_outputs(); ++i) step.ctx.outputs_.push_back(&values_[node.first_output + i]);
}

template <typename Action> void SampleFrame::guarded(Step& step, const SampleTask& task, Action action) {
  const int64_t begin = timed_ ? now_ns() : 0;
  try {
    action();
  } catch (...) {
    throw NodeFailure{step.number, current_error(), source_of(step, task)};
  }
  if (timed_) NodeCounters::add(counters_[&step - steps_.data()].timed_ns, now_ns() - begin);
}

void SampleFrame::run(const SampleTask& task) {
  timed_ = tasks_++ % kTimedTaskEvery == 0;
  start(task);
  for (Step& step : steps_) {
    step.present = is_present(step);
    step.done = !step.present;
    if (step.done) continue;
    guarded(step, task, [&] {
      infer(step);
      if (step.node->eager) {
        promise_slots(step, task);
        finish(step);
      }
    });
  }
  route(task);
  for (Step& step : steps_) {
    if (!step.done && step.needed) guarded(step, task, [&] { finish(step); });
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (!steps_[i].present || !steps_[i].done) continue;
    NodeCounters::add(counters_[i].samples, 1);
    if (timed_) NodeCounters::add(counters_[i].timed_samples, 1);
    size_t bytes = 0;
    for (const Sample* output : steps_[i].ctx.outputs_) bytes += stored_bytes(*output);
    NodeCounters::add(counters_[i].bytes, static_cast<int64_t>(bytes));
  }
}

void SampleFrame::prefetch(const SampleTask& soon, const SampleTask& later) const {
  try {
    for (const Step& step : steps_) {
      step.node->sample_op().prefetch(soon.id_for(*step.node), later.id_for(*step.node));
    }
  } catch (...) {
    (void)current_error();  // a hint that fails costs time and nothing else
  }
}

void SampleFrame::start(const SampleTask& task) {
  arena_.reset();
  for (int value : segment_.batches_in) values_[value] = (*(*task.batches)[value])[task.slot];
  for (Step& step : steps_) {
    step.ctx.plan_ = nullptr;
    step.ctx.viewed_input_ = 0;
    step.ctx.id_ = task.id_for(*step.node);
    for (Sample* output : step.ctx.outputs_) {
      output->data = nullptr;
      output->region = nullptr;
      output->dtype = DType::kNone;
      output->layout = Layout();
      output->source = Source();
      const auto value = static_cast<size_t>(output - values_.data());
      slots_[value] = nullptr;
      asked_[value] = Ask::kNothing;
    }
  }
}

// A conditional leaves a node out for a sample by leaving out what it depends on.
bool SampleFrame::is_present(const Step& step) const {
  const PlanNode& node = *step.node;
  const auto present = [&](int value) { return values_[value].present(); };
  const bool any_input_will_do = node.spec.schema->is_merge();
  return (any_input_will_do || std::all_of(node.inputs.begin(), node.inputs.end(), present)) &&
         std::all_of(node.arguments.begin(), node.arguments.end(), present) && (node.scope < 0 || present(node.scope));
}

void SampleFrame::choose_layouts(Step& step) {
  for (size_t i = 0; i < step.layouts.size(); ++i) {
    const auto& allowed = step.layouts[i];
    const Sample& sample = values_[step.node->inputs[i]];
    step.ctx.inputs_[i] = &sample;
    if (allowed.empty() || std::find(allowed.begin(), allowed.end(), sample.layout) != allowed.end()) continue;
    const auto match = std::find_if(allowed.begin(), allowed.end(), [&](const Layout& layout) {
      return sample.layout.empty() && layout.ndim() == sample.shape.ndim();
    });
    if (match == allowed.end()) refuse_layout(*step.node->spec.schema, static_cast<int>(i), sample, allowed);
    step.relabelled[i] = sample;
    step.relabelled[i].layout = *match;
    step.ctx.inputs_[i] = &step.relabelled[i];
  }
}

void SampleFrame::infer(Step& step) {
  const SampleOperator& op = step.node->sample_op();
  if (!step.ctx.worker_state_) step.ctx.worker_state_ = op.make_worker_state();
  choose_layouts(step);
  op.infer(step.ctx);
  const Schema& schema = *step.node->spec.schema;
  for (Sample* output : step.ctx.outputs_) {
    if (output->present()) {
      checked_volume(output->shape, dtype_size(output->dtype), schema.name());
    } else {
      check(schema.is_split() || schema.is_merge(), "[{}]: infer() has described no element type for an output",
            schema.name());
    }
    if (!output->source.names && step.ctx.num_inputs() > 0) {
      output->source = step.ctx.input(step.ctx.viewed_input_).source;
    }
  }
}

void SampleFrame::promise_slots(const Step& step, const SampleTask& task) {
  for (int i = 0; i < step.node->num_outputs(); ++i) {
    const int value = step.node->first_output + i;
    if (leaves_[value] && !slots_[value] && values_[value].present()) slots_[value] = claim(value, task);
  }
}

void SampleFrame::route(const SampleTask& task) {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->done || !step->needed) continue;
    guarded(*step, task, [&] {
      promise_slots(*step, task);
      if (has_regions_) ask_inputs(*step);
    });
    if (!step->is_view) continue;
    // A view's bytes are its input's: let the input be computed where the view's result has to be.
    const int input = step->node->inputs[step->ctx.viewed_input_];
    const bool only_for_this = users_[input] == 1 && !leaves_[input] && !slots_[input];
    if (!only_for_this || plan_.nodes()[plan_.producer(input)].segment != step->node->segment) continue;
    for (int i = 0; i < step->node->num_outputs() && !slots_[input]; ++i) {
      slots_[input] = slots_[step->node->first_output + i];
    }
  }
}

void SampleFrame::ask(int value, const std::optional<Region>& region) {
  Ask& asked = asked_[value];
  if (!region || region->covers(values_[value].shape)) {
    asked = Ask::kAll;
  } else if (asked == Ask::kNothing) {
    asked = Ask::kRegion;
    regions_[value] = *region;
  } else if (asked == Ask::kRegion) {
    regions_[value].unite(*region);
  }
}

// Users come before producers: what is asked of this step's output is known.
void SampleFrame::ask_inputs(const Step& step) {
  const SampleOperator& op = step.node->sample_op();
  const int value = step.node->first_output;
  Sample& output = values_[value];
  Region needed = Region::whole(output.shape);
  // An operator that has put its output where it lies, whole, writes nothing.
  if (op.writes_regions() && !output.data && asked_[value] == Ask::kRegion && !leaves_[value] &&
      step.node->num_outputs() == 1) {
    needed = regions_[value] = regions_[value].within(output.shape);
    output.region = &regions_[value];
  }
  for (size_t i = 0; i < step.node->inputs.size(); ++i) {
    // What is there already, records and cached images for instance, is not asked for.
    const bool is_there = values_[step.node->inputs[i]].data != nullptr;
    if (is_there || step.node->spec.schema->input_spec(static_cast<int>(i)).shape_only) continue;
    ask(step.node->inputs[i], step.is_view ? std::nullopt : op.input_region(step.ctx, static_cast<int>(i), needed));
  }
  for (int argument : step.node->arguments) ask(argument, std::nullopt);
}

void SampleFrame::finish(Step& step) {
  step.done = true;
  for (size_t i = 0; i < step.relabelled.size(); ++i) {
    step.relabelled[i].data = values_[step.node->inputs[i]].data;
    step.relabelled[i].region = values_[step.node->inputs[i]].region;
  }
  if (step.is_view) {
    finish_view(step);
  } else {
    compute(step);
  }
}

void SampleFrame::finish_view(Step& step) {
  for (int i = 0; i < step.node->num_outputs(); ++i) {
    Sample& output = *step.ctx.outputs_[i];
    if (!output.present()) continue;
    output.data = step.ctx.input(step.ctx.viewed_input_).data;
    move_to_slot(output, slots_[step.node->first_output + i]);
  }
}

void SampleFrame::compute(Step& step) {
  bool all_placed = true;
  for (int i = 0; i < step.node->num_outputs(); ++i) {
    Sample& output = *step.ctx.outputs_[i];
    if (output.data) continue;
    all_placed = false;
    void* slot = slots_[step.node->first_output + i];
    output.data = slot ? slot : arena_.allocate(stored_bytes(output));
  }
  if (!all_placed) step.node->sample_op().run(step.ctx);
  // A reader may have put a record where it lies; a batch gets a copy.
  for (int i = 0; i < step.node->num_outputs(); ++i) {
    move_to_slot(*step.ctx.outputs_[i], slots_[step.node->first_output + i]);
  }
}

// Empty where nobody knows it.
std::string SampleFrame::source_of(const Step& step, const SampleTask& task) const try {
  if (step.node->kind == NodeKind::kReader) {
    return static_cast<const Reader&>(*step.node->op).source_name(task.reader_ids[step.node->reader].index);
  }
  for (int value : step.node->inputs) {
    std::string name = values_[value].source.name();
    if (!name.empty()) return name;
  }
  return {};
} catch (...) {
  (void)current_error();  // what is being reported matters more
  return {};
}

}  // namespace headrace
