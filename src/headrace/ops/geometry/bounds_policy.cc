// Reading and applying out_of_bounds_policy.
#include "ops/geometry/bounds_policy.h"

#include <algorithm>
#include <cctype>

namespace headrace {

BoundsPolicy get_bounds_policy(const OpSpec& spec, bool borders) {
  std::string name = spec.get_string("out_of_bounds_policy");
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name == "error") return BoundsPolicy::kError;
  if (name == "pad" || name == "constant") return BoundsPolicy::kPad;
  if (name == "trim_to_shape") return BoundsPolicy::kTrim;
  if (borders) {
    if (name == "clamp" || name == "edge") return BoundsPolicy::kClamp;
    if (name == "reflect" || name == "reflect_1001") return BoundsPolicy::kReflect1001;
    if (name == "reflect_101") return BoundsPolicy::kReflect101;
    if (name == "wrap") return BoundsPolicy::kWrap;
  }
  fail(ErrorKind::kRuntime, "{}: expected \"error\", \"pad\"{}, got \"{}\"", spec.about("out_of_bounds_policy"),
       borders ? ", \"trim_to_shape\", \"clamp\", \"reflect\", \"reflect_101\" or \"wrap\"" : " or \"trim_to_shape\"",
       name);
}

Region Window::region() const {
  Region region{anchor, anchor};
  for (int i = 0; i < anchor.ndim(); ++i) region.end[i] += extent[i];
  return region;
}

Window Window::part(const Region& part) const {
  Window window{anchor, part.extent()};
  for (int i = 0; i < anchor.ndim(); ++i) window.anchor[i] += part.begin[i];
  return window;
}

bool Window::inside(const Shape& shape) const {
  for (int i = 0; i < shape.ndim(); ++i) {
    if (anchor[i] < 0 || anchor[i] + extent[i] > shape[i]) return false;
  }
  return true;
}

void Window::trim(const Shape& shape) {
  for (int i = 0; i < shape.ndim(); ++i) {
    const int64_t begin = std::clamp<int64_t>(anchor[i], 0, shape[i]);
    const int64_t end = std::clamp<int64_t>(anchor[i] + extent[i], begin, shape[i]);
    anchor[i] = begin;
    extent[i] = end - begin;
  }
}

void apply_bounds_policy(BoundsPolicy policy, const Shape& shape, const Layout& layout, Window& window,
                         std::string_view operator_name) {
  if (policy == BoundsPolicy::kTrim) window.trim(shape);
  if (policy != BoundsPolicy::kError) return;
  for (int i = 0; i < shape.ndim(); ++i) {
    const int64_t begin = window.anchor[i];
    const int64_t end = begin + window.extent[i];
    check(begin >= 0 && end <= shape[i],
          "[{}]: the window [{}, {}) of axis {} reaches beyond the input, whose shape is {}; make it smaller or set "
          "out_of_bounds_policy to \"pad\" or \"trim_to_shape\"",
          operator_name, begin, end, layout.empty() ? std::to_string(i) : std::string(1, layout[i]), shape);
  }
}

}  // namespace headrace
