// What happens where a window reaches beyond the image: the argument out_of_bounds_policy of crop-like operators.
#pragma once

#include <string>

#include "core/layout.h"
#include "core/region.h"
#include "graph/op_spec.h"

namespace headrace {

enum class BoundsPolicy : uint8_t {
  kError,
  kPad,          // a constant
  kTrim,         // the window is cut to the image
  kClamp,        // the edge repeated
  kReflect1001,  // mirrored, the edge repeated
  kReflect101,   // mirrored, the edge not repeated
  kWrap,
};

// Reads `out_of_bounds_policy`, in any case: "error", "pad" = "constant", "trim_to_shape"; with `borders` also
// "clamp" = "edge", "reflect" = "reflect_1001", "reflect_101", "wrap". Others are errors.
BoundsPolicy get_bounds_policy(const OpSpec& spec, bool borders);

// A window: per axis of the input, its first element and its extent; it may reach beyond the input.
struct Window {
  Shape anchor;
  Shape extent;

  Region region() const;
  // The window of a part of this one, given in its own coordinates.
  Window part(const Region& part) const;
  // Lies inside a tensor of shape `shape`.
  bool inside(const Shape& shape) const;
  // Cuts the window to the tensor; what lies beyond altogether becomes empty.
  void trim(const Shape& shape);
};

// Applies kError and kTrim to the window; the other policies leave it. `operator_name` starts the message.
void apply_bounds_policy(BoundsPolicy policy, const Shape& shape, const Layout& layout, Window& window,
                         std::string_view operator_name);

}  // namespace headrace
