// The window of slice-like operators: start, end, shape and their relative forms, or the inputs anchor and extent.
#pragma once

#include <optional>

#include "graph/arg.h"
#include "ops/geometry/bounds_policy.h"

namespace headrace {

class SliceWindow {
 public:
  // Checks the constants, and that there is one kind of start and one of end.
  explicit SliceWindow(const OpSpec& spec);

  // Adds the inputs `anchor` and `extent` and the arguments to a schema, behind its input 0.
  static void declare(Schema& schema);

  // The window in a tensor of this shape and layout. Relative numbers are multiplied by the extent and rounded half
  // away from zero, in float; axes that aren't named are whole.
  Window operator()(const SampleContext& ctx, const Shape& shape, const Layout& layout) const;

 private:
  struct Axes {
    int axis[Shape::kMaxDims];
    int count = 0;
  };

  Axes axes(const SampleContext& ctx, const Shape& shape, const Layout& layout) const;
  void from_arguments(const SampleContext& ctx, const Shape& shape, const Axes& axes, Window& window) const;
  void from_inputs(const SampleContext& ctx, const Shape& shape, const Axes& axes, Window& window) const;

  std::string name_;
  bool positional_;
  ArgList<int64_t> start_, end_, shape_;
  ArgList<float> rel_start_, rel_end_, rel_shape_;
  ArgList<int64_t> axes_;
  bool use_axes_;
  bool names_given_;
  Layout axis_names_;
  bool normalized_anchor_, normalized_shape_;
};

}  // namespace headrace
