// Schema: the builder, and the arguments that every operator or every reader has.
#include "graph/schema.h"

namespace headrace {

Schema::Schema(std::string name) : name_(std::move(name)) {
  ignored_arg("bytes_per_sample_hint", ArgType::kIntList, "Memory is sized by what samples need.");
  arg("preserve", ArgType::kBool, false, "Keep the operator in the graph even if nobody uses its outputs.");
}

Schema& Schema::add(ArgSpec spec) {
  check_internal(!find_arg(spec.name), "[{}] {}: declared twice", name_, spec.name);
  args_.push_back(std::move(spec));
  return *this;
}

Schema& Schema::doc(std::string text) {
  doc_ = std::move(text);
  return *this;
}

Schema& Schema::input(std::string name, InputSpec spec) {
  input_names_.push_back(std::move(name));
  if (!spec.optional) ++min_inputs_;
  ++max_inputs_;
  inputs_.push_back(std::move(spec));
  return *this;
}

Schema& Schema::variadic_input(std::string name, int least, int most, InputSpec spec) {
  input_names_.push_back(std::move(name));
  min_inputs_ = least;
  max_inputs_ = most;
  inputs_.push_back(std::move(spec));
  return *this;
}

Schema& Schema::arg(std::string name, ArgType type, ArgValue default_value, std::string doc, PerSample per_sample) {
  return add({.name = name,
              .type = type,
              .default_value = convert_arg(default_value, type, "[" + name_ + "] " + name),
              .doc = std::move(doc),
              .per_sample = per_sample});
}

Schema& Schema::required_arg(std::string name, ArgType type, std::string doc, PerSample per_sample) {
  return add({.name = std::move(name),
              .type = type,
              .default_value = {},
              .doc = std::move(doc),
              .per_sample = per_sample,
              .required = true});
}

Schema& Schema::deprecated_arg(std::string name, std::string renamed_to) {
  const ArgSpec* target = find_arg(renamed_to);
  check_internal(target, "[{}] {}: renamed to {}, which is not declared before it", name_, name, renamed_to);
  ArgSpec spec = *target;
  spec.name = std::move(name);
  spec.doc = "Old name of `" + renamed_to + "`.";
  spec.default_value = {};
  spec.required = false;
  spec.renamed_to = std::move(renamed_to);
  return add(std::move(spec));
}

Schema& Schema::ignored_arg(std::string name, ArgType type, std::string doc) {
  return add({.name = std::move(name),
              .type = type,
              .default_value = {},
              .doc = "Accepted without effect. " + std::move(doc),
              .ignored = true});
}

Schema& Schema::not_for_shapes() {
  args_.back().shapes_output = false;
  return *this;
}

Schema& Schema::devices(std::vector<std::string> names) {
  devices_ = std::move(names);
  return *this;
}

Schema& Schema::outputs(int count) {
  outputs_ = count;
  return *this;
}

Schema& Schema::outputs_from_arg(int base, std::string arg) {
  outputs_ = base;
  outputs_arg_ = std::move(arg);
  return *this;
}

Schema& Schema::outputs_from_args(int (*count)(const ArgMap& args)) {
  count_outputs_ = count;
  return *this;
}

Schema& Schema::random() {
  random_ = true;
  return arg("seed", ArgType::kInt, -1, "Seed of this operator; -1 takes one from the pipeline's seed.");
}

Schema& Schema::reader() {
  reader_ = true;
  random();
  devices({"cpu"});
  arg("num_shards", ArgType::kInt, 1, "Parts that the data set is cut into.");
  arg("shard_id", ArgType::kInt, 0, "The part that this reader starts with.");
  arg("stick_to_shard", ArgType::kBool, false, "Read the same shard in every epoch instead of going on to the next.");
  arg("pad_last_batch", ArgType::kBool, false,
      "Repeat the last sample of the shard until all shards make equally many full batches.");
  arg("random_shuffle", ArgType::kBool, false,
      "Shuffle: one fixed permutation of the data set before it is cut into shards, then another of the shard in each "
      "epoch.");
  arg("initial_fill", ArgType::kInt, 1024,
      "DALI's size of the shuffle buffer. headrace shuffles the whole shard whatever the value, but for 1: no shuffle "
      "beyond the fixed permutation.");
  arg("global_shuffle", ArgType::kBool, false,
      "headrace's own: another permutation of the whole data set in each epoch, cut into shards.");
  ignored_arg("skip_cached_images", ArgType::kBool, "Records are mapped, not read.");
  ignored_arg("prefetch_queue_depth", ArgType::kInt, "Readers are read by the executor's window.");
  ignored_arg("read_ahead", ArgType::kBool, "The system's read-ahead is used.");
  ignored_arg("lazy_init", ArgType::kBool, "Indices are read when the pipeline is built.");
  ignored_arg("tensor_init_bytes", ArgType::kInt, "Memory is sized by what samples need.");
  return arg("dont_use_mmap", ArgType::kBool, false, "Read files with read() instead of mapping them.");
}

Schema& Schema::fed() {
  fed_ = true;
  return *this;
}

Schema& Schema::never_merged() {
  never_merged_ = true;
  return *this;
}

Schema& Schema::side_effects() {
  side_effects_ = true;
  return *this;
}

bool Schema::is_kept(const ArgMap& args) const {
  const auto preserve = args.find("preserve");
  return side_effects_ || (preserve != args.end() && preserve->second == ArgValue(true));
}

Schema& Schema::view() {
  view_ = true;
  return *this;
}

Schema& Schema::split() {
  split_ = true;
  return outputs(2).view();
}

Schema& Schema::merge() {
  merge_ = true;
  return view();
}

Schema& Schema::deprecated(std::string advice) {
  deprecation_ = std::move(advice);
  return *this;
}

const InputSpec& Schema::input_spec(int i) const {
  const int last = static_cast<int>(inputs_.size()) - 1;
  check_internal(last >= 0, "[{}]: no inputs", name_);
  return inputs_[i < last ? i : last];
}

const ArgSpec* Schema::find_arg(std::string_view name) const {
  for (const ArgSpec& spec : args_) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

constexpr int64_t kMostOutputs = 10'000;

int Schema::num_outputs(const ArgMap& args) const {
  if (count_outputs_) {
    ArgMap all = args;
    for (const ArgSpec& spec : args_) all.emplace(spec.name, spec.default_value);
    return count_outputs_(all);
  }
  if (outputs_arg_.empty()) return outputs_;
  const auto it = args.find(outputs_arg_);
  const ArgValue& value = it != args.end() ? it->second : find_arg(outputs_arg_)->default_value;
  if (const auto* flag = std::get_if<bool>(&value)) return outputs_ + *flag;
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) return outputs_ + static_cast<int>(list->size());
  const auto* count = std::get_if<int64_t>(&value);
  if (!count) return outputs_;
  check_value(*count >= 0 && *count <= kMostOutputs, "[{}] {}: expected 0 to {} outputs, got {}", name_, outputs_arg_,
              kMostOutputs, *count);
  return outputs_ + static_cast<int>(*count);
}

}  // namespace headrace
