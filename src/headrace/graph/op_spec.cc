// OpSpec: look-ups.
#include "graph/op_spec.h"

#include <algorithm>

namespace headrace {
namespace {

template <typename T> const T& stored_as(const OpSpec& spec, std::string_view arg, const ArgValue& value) {
  const T* stored = std::get_if<T>(&value);
  check_internal(stored, "{}: no value of the expected type", spec.about(arg));
  return *stored;
}

}  // namespace

bool OpSpec::has_constant(std::string_view arg) const { return constants.find(arg) != constants.end(); }

int OpSpec::tensor_index(std::string_view arg) const {
  const auto it = std::find(tensor_args.begin(), tensor_args.end(), arg);
  return it == tensor_args.end() ? -1 : static_cast<int>(it - tensor_args.begin());
}

const ArgValue& OpSpec::value(std::string_view arg) const {
  const auto it = constants.find(arg);
  return it != constants.end() ? it->second : declared(arg).default_value;
}

const ArgSpec& OpSpec::declared(std::string_view arg) const {
  const ArgSpec* spec = schema->find_arg(arg);
  check(spec, "{}: the operator's code reads this argument, but its Schema does not declare it", about(arg));
  return *spec;
}

DType OpSpec::get_dtype(std::string_view arg) const {
  const int64_t number = get_int(arg);
  const auto dtype = static_cast<DType>(number);
  check(static_cast<int64_t>(dtype) == number && dtype_size(dtype) > 0, "{}: {} is the number of no element type",
        about(arg), number);
  return dtype;
}

bool OpSpec::get_bool(std::string_view arg) const { return stored_as<bool>(*this, arg, value(arg)); }
int64_t OpSpec::get_int(std::string_view arg) const { return stored_as<int64_t>(*this, arg, value(arg)); }
double OpSpec::get_float(std::string_view arg) const { return stored_as<double>(*this, arg, value(arg)); }
const std::string& OpSpec::get_string(std::string_view arg) const {
  return stored_as<std::string>(*this, arg, value(arg));
}
const std::vector<int64_t>& OpSpec::get_ints(std::string_view arg) const {
  return stored_as<std::vector<int64_t>>(*this, arg, value(arg));
}
const std::vector<double>& OpSpec::get_floats(std::string_view arg) const {
  return stored_as<std::vector<double>>(*this, arg, value(arg));
}
const std::vector<std::string>& OpSpec::get_strings(std::string_view arg) const {
  return stored_as<std::vector<std::string>>(*this, arg, value(arg));
}

std::string OpSpec::about(std::string_view arg) const {
  return fmt::format("[{}] {}", schema ? schema->name() : name, arg);
}

}  // namespace headrace
