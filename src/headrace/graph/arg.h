// Arg and ArgList: an operator's arguments, whether constants or per-sample tensors, read the same way.
//
//   class Crop { Arg<float> pos_x_{spec, "crop_pos_x"}; ... float x = pos_x_(ctx); }
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/operator.h"

namespace headrace {

// One number of type T (bool, int32_t, int64_t, float, double). A tensor of any numeric type with one element is
// accepted and converted; floats become integers by truncation, clamped to the type.
template <typename T> class Arg {
 public:
  Arg(const OpSpec& spec, std::string_view name);

  // Given by the user, as a constant or as a node.
  bool given() const { return given_; }
  bool is_tensor() const { return tensor_ >= 0; }
  // The sample's value. Without a value and a default: T().
  T operator()(const SampleContext& ctx) const;

 private:
  std::string about_;
  bool given_;
  int tensor_;
  T constant_{};
};

// A list of numbers of type T (int32_t, int64_t, float, double). A tensor is read as a flat list.
template <typename T> class ArgList {
 public:
  ArgList(const OpSpec& spec, std::string_view name);

  bool given() const { return given_; }
  bool is_tensor() const { return tensor_ >= 0; }
  // The sample's values, valid until the sample is finished. Without a value and a default: empty.
  std::span<const T> operator()(const SampleContext& ctx) const;

 private:
  std::string about_;
  bool given_;
  int tensor_;
  std::vector<T> constant_;
};

}  // namespace headrace
