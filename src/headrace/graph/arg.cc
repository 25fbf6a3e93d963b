// Arg and ArgList: reading constants and tensors of any numeric type.
#include "graph/arg.h"

#include <limits>

#include "core/convert.h"

namespace headrace {
namespace {

// Element i of a numeric sample as T.
template <typename T> T read_element(const Sample& sample, int64_t i, const std::string& about) {
  T value{};
  visit_dtype(sample.dtype, AllTypes(), about, [&]<typename Source>() {
    const Source element = sample.as<Source>()[i];
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      value = convert_truncated<T>(element);
    } else if constexpr (is_half_type<Source>) {
      value = static_cast<T>(static_cast<float>(element));
    } else {
      value = static_cast<T>(element);
    }
  });
  return value;
}

// A constant as T; kOverflow if T is an integer type that cannot hold it.
template <typename T, typename Source> T narrowed(Source value, const OpSpec& spec, std::string_view name) {
  if constexpr (std::is_integral_v<T> && std::is_same_v<Source, int64_t>) {
    if (value < int64_t{std::numeric_limits<T>::min()} || value > int64_t{std::numeric_limits<T>::max()}) {
      fail(ErrorKind::kOverflow, "{}: {} does not fit into {} bits", spec.about(name), value, sizeof(T) * 8);
    }
  }
  return static_cast<T>(value);
}

template <typename T> std::vector<T> constant_list(const OpSpec& spec, std::string_view name) {
  const ArgSpec& arg = spec.declared(name);
  const bool has_fractions = arg.type == ArgType::kFloat || arg.type == ArgType::kFloatList;
  check(!has_fractions || std::is_floating_point_v<T>,
        "{}: the operator's Schema declares numbers with fractions, but its code reads integers", spec.about(name));
  const auto it = spec.constants.find(name);
  const ArgValue& value = it != spec.constants.end() ? it->second : arg.default_value;
  std::vector<T> list;
  std::visit(
      [&](const auto& v) {
        using Value = std::decay_t<decltype(v)>;
        if constexpr (std::is_arithmetic_v<Value>) {
          list.push_back(narrowed<T>(v, spec, name));
        } else if constexpr (std::is_same_v<Value, std::vector<int64_t>> ||
                             std::is_same_v<Value, std::vector<double>> || std::is_same_v<Value, std::vector<bool>>) {
          for (const auto element : v) list.push_back(narrowed<T>(element, spec, name));
        }
      },
      value);
  return list;
}

}  // namespace

template <typename T>
Arg<T>::Arg(const OpSpec& spec, std::string_view name)
    : about_(spec.about(name)), given_(spec.has(name)), tensor_(spec.tensor_index(name)) {
  const std::vector<T> constant = constant_list<T>(spec, name);
  if (!constant.empty()) constant_ = constant[0];
}

template <typename T> T Arg<T>::operator()(const SampleContext& ctx) const {
  if (tensor_ < 0) return constant_;
  const Sample& sample = ctx.argument(tensor_);
  check(sample.volume() == 1, "{}: expected one value per sample, got a tensor of shape {}", about_, sample.shape);
  return read_element<T>(sample, 0, about_);
}

template <typename T>
ArgList<T>::ArgList(const OpSpec& spec, std::string_view name)
    : about_(spec.about(name)), given_(spec.has(name)), tensor_(spec.tensor_index(name)) {
  constant_ = constant_list<T>(spec, name);
}

template <typename T> std::span<const T> ArgList<T>::operator()(const SampleContext& ctx) const {
  if (tensor_ < 0) return constant_;
  const Sample& sample = ctx.argument(tensor_);
  if (sample.dtype == dtype_of<T>) return {sample.as<T>(), static_cast<size_t>(sample.volume())};
  std::span<T> values = ctx.arena().allocate_array<T>(static_cast<size_t>(sample.volume()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = read_element<T>(sample, static_cast<int64_t>(i), about_);
  return values;
}

template class Arg<bool>;
template class Arg<int32_t>;
template class Arg<int64_t>;
template class Arg<float>;
template class Arg<double>;
template class ArgList<int32_t>;
template class ArgList<int64_t>;
template class ArgList<float>;
template class ArgList<double>;

}  // namespace headrace
