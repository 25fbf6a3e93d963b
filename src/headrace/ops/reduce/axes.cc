// The arguments `axes` and `axis_names`.
#include "ops/reduce/axes.h"

namespace headrace {
namespace {

void add_axis(AxisSet& set, int axis, std::string_view about) {
  check_value(!(set >> axis & 1), "{}: axis {} is given twice", about, axis);
  set |= AxisSet{1} << axis;
}

}  // namespace

AxesArg::AxesArg(const OpSpec& spec) : about_(spec.about("axes")) {
  check(!spec.has("axes") || !spec.has("axis_names"), "{}: give axes or axis_names, not both", about_);
  given_ = spec.has("axes") || spec.has("axis_names");
  if (spec.has("axes")) axes_ = spec.get_ints("axes");
  if (spec.has("axis_names")) names_ = spec.get_layout("axis_names");
}

AxisSet AxesArg::resolve(int ndim, const Layout& layout, ErrorKind out_of_range) const {
  if (!given_) return all_axes(ndim);
  AxisSet set = 0;
  for (int64_t axis : axes_) {
    if (axis < -ndim || axis >= ndim) {
      fail(out_of_range, "{}: axis {} is out of range; the sample has {} axes", about_, axis, ndim);
    }
    add_axis(set, static_cast<int>(axis < 0 ? axis + ndim : axis), about_);
  }
  for (char letter : names_.str()) {
    const int axis = layout.find(letter);
    check(axis >= 0, "{}: axis \"{}\" is not in the layout \"{}\"", about_, letter, layout);
    add_axis(set, axis, about_);
  }
  return set;
}

void AxesArg::declare(Schema& schema, std::string purpose) {
  schema.arg("axes", ArgType::kIntList, {},
             purpose + ": their numbers; negative ones count from the last axis. Default: all axes.");
  schema.arg("axis_names", ArgType::kLayout, {}, purpose + ": their letters in the layout, instead of `axes`.");
}

Shape kept_shape(const Shape& shape, AxisSet reduced) {
  Shape kept = shape;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    if (reduced >> axis & 1) kept[axis] = 1;
  }
  return kept;
}

int64_t reduced_volume(const Shape& shape, AxisSet reduced) {
  int64_t volume = 1;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    if (reduced >> axis & 1) volume *= shape[axis];
  }
  return volume;
}

}  // namespace headrace
