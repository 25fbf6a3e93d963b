// OpSpec: what an operator's constructor gets: the schema, the node's constants, and which arguments are nodes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/layout.h"
#include "graph/schema.h"

namespace headrace {

class GroupState;

class OpSpec {
 public:
  const Schema* schema = nullptr;
  std::string name;                      // of the instance
  std::string device;                    // logical: "cpu", "gpu", "mixed"
  ArgMap constants;                      // converted to the schema's types; what was not given is absent
  std::vector<std::string> tensor_args;  // arguments that are nodes, in the order of the inputs behind the regular ones
  int num_inputs = 0;                    // regular inputs
  int num_outputs = 1;
  uint64_t seed = 0;
  int batch_size = 1;                 // the pipeline's largest
  std::shared_ptr<GroupState> group;  // never null in a constructor; see graph/group_state.h

  // An argument was given, as a constant or as a node.
  bool has(std::string_view arg) const { return has_constant(arg) || tensor_index(arg) >= 0; }
  bool has_constant(std::string_view arg) const;
  // The position of the argument among tensor_args, or -1.
  int tensor_index(std::string_view arg) const;

  // The constant, or the schema's default. kInternal if there is neither, or the argument is a node.
  bool get_bool(std::string_view arg) const;
  int64_t get_int(std::string_view arg) const;
  double get_float(std::string_view arg) const;
  const std::string& get_string(std::string_view arg) const;
  DType get_dtype(std::string_view arg) const;
  Layout get_layout(std::string_view arg) const { return Layout(std::string_view(get_string(arg))); }
  const std::vector<int64_t>& get_ints(std::string_view arg) const;
  const std::vector<double>& get_floats(std::string_view arg) const;
  const std::vector<std::string>& get_strings(std::string_view arg) const;

  // What the schema declares of the argument; an Error if it doesn't.
  const ArgSpec& declared(std::string_view arg) const;
  // "[crop] crop_pos_x", the start of messages about an argument.
  std::string about(std::string_view arg) const;

 private:
  const ArgValue& value(std::string_view arg) const;
};

}  // namespace headrace
