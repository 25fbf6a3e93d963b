// The arguments `axes` and `axis_names`, and shapes without the axes that are reduced.
#pragma once

#include <vector>

#include "core/sample.h"
#include "graph/op_spec.h"

namespace headrace {

// A set of axes, one bit each.
using AxisSet = uint32_t;

inline AxisSet all_axes(int ndim) { return (AxisSet{1} << ndim) - 1; }

class AxesArg {
 public:
  // A kRuntime error if both arguments are given, kValue if an axis is named twice.
  explicit AxesArg(const OpSpec& spec);

  bool given() const { return given_; }
  // The axes of a sample of that many axes and that layout; all if none were given. Negative axes count from the end.
  // An axis out of range is an error of kind `out_of_range`, a letter that the layout lacks a kRuntime error.
  AxisSet resolve(int ndim, const Layout& layout, ErrorKind out_of_range) const;

  // Adds the two arguments to a schema.
  static void declare(Schema& schema, std::string purpose);

 private:
  std::string about_;
  bool given_ = false;
  std::vector<int64_t> axes_;
  Layout names_;
};

// Extents of 1 instead of the reduced ones.
Shape kept_shape(const Shape& shape, AxisSet reduced);
// Number of elements that are reduced to one.
int64_t reduced_volume(const Shape& shape, AxisSet reduced);

}  // namespace headrace
