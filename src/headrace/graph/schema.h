// Schema: the one declaration of an operator. Python functions, stubs, docs, checks and the planner derive from it.
//
//   Schema("flip")
//       .doc("Mirrors images or volumes along the chosen axes.")
//       .input("data", {.layouts = {"HWC", "CHW", "FHWC", "DHWC"}})
//       .arg("horizontal", ArgType::kInt, 1, "Mirror along the width.", PerSample::kAllowed)
//       .devices({"cpu", "gpu"})
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/arg_value.h"

namespace headrace {

// Whether an argument may be a node, with a value for each sample.
enum class PerSample : bool { kNever, kAllowed };

struct InputSpec {
  std::vector<std::string> layouts = {};  // allowed layouts; empty: any
  bool infer_reads_data = false;          // the output's shape depends on this input's values
  bool shape_only = false;                // neither infer nor run reads the values
  bool optional = false;                  // may be left out; optional inputs come last
  std::string doc = {};
};

struct ArgSpec {
  std::string name;
  ArgType type = ArgType::kInt;
  ArgValue default_value;  // monostate: None, or required
  std::string doc;
  PerSample per_sample = PerSample::kNever;
  bool required = false;
  bool shapes_output = true;    // infer reads it; false keeps a per-sample argument out of the shape pass
  std::string renamed_to = {};  // deprecated spelling of that argument
  bool ignored = false;         // accepted for DALI's sake, without effect
};

class Schema {
 public:
  // `name` is the path below `fn`: "crop", "readers.file", "_arithmetic" (a leading underscore hides it).
  explicit Schema(std::string name);

  Schema& doc(std::string text);
  // A positional input. Inputs are required unless `spec.optional`.
  Schema& input(std::string name, InputSpec spec = {});
  // Any number of inputs from `least` to `most` that share one spec.
  Schema& variadic_input(std::string name, int least, int most, InputSpec spec = {});
  // An optional argument. `default_value` monostate means None: the operator asks OpSpec::has().
  Schema& arg(std::string name, ArgType type, ArgValue default_value, std::string doc,
              PerSample per_sample = PerSample::kNever);
  Schema& required_arg(std::string name, ArgType type, std::string doc, PerSample per_sample = PerSample::kNever);
  // An old spelling of `renamed_to`.
  Schema& deprecated_arg(std::string name, std::string renamed_to);
  // Accepted without effect; `doc` says why.
  Schema& ignored_arg(std::string name, ArgType type, std::string doc);
  // The last argument declared does not influence shapes, so that it may be computed from pixels without forcing a
  // full decode first.
  Schema& not_for_shapes();

  Schema& devices(std::vector<std::string> names);  // of "cpu", "gpu", "mixed"; default cpu and gpu
  Schema& outputs(int count);                       // default 1
  // The number of outputs depends on arguments: it is `base` plus the value of the integer argument `arg`, or the
  // length of the list of integers `arg`.
  Schema& outputs_from_arg(int base, std::string arg);
  // The number of outputs is `count` of all constants, those not given at their default.
  Schema& outputs_from_args(int (*count)(const ArgMap& args));
  Schema& random();        // takes `seed`; its values depend on (seed, epoch, position)
  Schema& reader();        // a source of records; random() and the sampling arguments are implied
  Schema& fed();           // its outputs are batches that the program feeds in
  Schema& never_merged();  // two equal nodes are two nodes
  Schema& side_effects();  // never removed
  // Output 0 has the bytes of input 0: reshape, squeeze, copies between devices. The engine shares the memory.
  Schema& view();
  // A view of input 0 that is one of two outputs: 0 where the tensor argument `predicate` is true, else 1.
  Schema& split();
  // A view of the input that its infer() names by SampleContext::set_viewed_input(); the others may be absent.
  Schema& merge();
  Schema& deprecated(std::string advice);

  const std::string& name() const { return name_; }
  const std::string& doc() const { return doc_; }
  const std::vector<std::string>& input_names() const { return input_names_; }
  const InputSpec& input_spec(int i) const;
  int min_inputs() const { return min_inputs_; }
  int max_inputs() const { return max_inputs_; }
  const std::vector<ArgSpec>& args() const { return args_; }
  const ArgSpec* find_arg(std::string_view name) const;
  const std::vector<std::string>& devices() const { return devices_; }
  // Outputs of a node with these arguments.
  int num_outputs(const ArgMap& args) const;
  bool is_random() const { return random_; }
  bool is_reader() const { return reader_; }
  bool is_fed() const { return fed_; }
  bool is_never_merged() const { return never_merged_ || random_ || reader_ || fed_ || side_effects_; }
  bool has_side_effects() const { return side_effects_; }
  // A node with these arguments is computed though nobody reads it.
  bool is_kept(const ArgMap& args) const;
  bool is_view() const { return view_; }
  bool is_split() const { return split_; }
  bool is_merge() const { return merge_; }
  const std::string& deprecation() const { return deprecation_; }

 private:
  Schema& add(ArgSpec spec);

  std::string name_;
  std::string doc_;
  std::vector<std::string> input_names_;
  std::vector<InputSpec> inputs_;
  int min_inputs_ = 0;
  int max_inputs_ = 0;
  std::vector<ArgSpec> args_;
  std::vector<std::string> devices_ = {"cpu", "gpu"};
  int outputs_ = 1;
  std::string outputs_arg_;
  int (*count_outputs_)(const ArgMap& args) = nullptr;
  bool random_ = false;
  bool reader_ = false;
  bool fed_ = false;
  bool never_merged_ = false;
  bool side_effects_ = false;
  bool view_ = false;
  bool split_ = false;
  bool merge_ = false;
  std::string deprecation_;
};

}  // namespace headrace
