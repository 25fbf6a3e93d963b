// The window of slice-like operators.
#include "ops/geometry/slice_window.h"

#include <cmath>

namespace headrace {
namespace {

// The value for axis number i of a list with one value for all axes or one for each.
template <typename T> T value_of(std::span<const T> list, int i) {
  return list[list.size() == 1 ? 0 : static_cast<size_t>(i)];
}

// Windows reach at most this far, so that sums and differences of positions fit into 64 bits.
constexpr int64_t kFarthest = int64_t{1} << 48;

// The nearest position within the range that windows can have; NaN becomes one outside of it.
int64_t round_relative(float relative, int64_t extent) {
  const float position = std::round(relative * static_cast<float>(extent));
  return std::abs(position) <= static_cast<float>(kFarthest) ? static_cast<int64_t>(position) : 2 * kFarthest;
}

bool is_near(int64_t position) { return position >= -kFarthest && position <= kFarthest; }

}  // namespace

SliceWindow::SliceWindow(const OpSpec& spec)
    : name_(spec.schema->name()),
      positional_(spec.num_inputs == 3),
      start_(spec, "start"),
      end_(spec, "end"),
      shape_(spec, "shape"),
      rel_start_(spec, "rel_start"),
      rel_end_(spec, "rel_end"),
      rel_shape_(spec, "rel_shape"),
      axes_(spec, "axes"),
      use_axes_(spec.has("axes")),
      names_given_(spec.has("axis_names")),
      axis_names_(spec.get_layout("axis_names")),
      normalized_anchor_(spec.get_bool("normalized_anchor")),
      normalized_shape_(spec.get_bool("normalized_shape")) {
  check(spec.num_inputs != 2, "[{}]: expected the inputs data, anchor and extent, or data alone, got two inputs",
        name_);
  const int starts = start_.given() + rel_start_.given();
  const int ends = end_.given() + shape_.given() + rel_end_.given() + rel_shape_.given();
  check(starts <= 1, "[{}] start: expected start or rel_start, got both", name_);
  check(ends <= 1, "[{}] end: expected one of end, rel_end, shape, rel_shape, got {} of them", name_, ends);
  check(!positional_ || starts + ends == 0, "[{}] start: not together with the inputs anchor and extent", name_);
  check(positional_ || starts + ends > 0,
        "[{}]: expected start, end or shape (or rel_...), or the inputs anchor and extent", name_);
  check(!use_axes_ || !names_given_, "[{}] axes: expected axes or axis_names, got both", name_);
}

void SliceWindow::declare(Schema& schema) {
  const std::string one_each = " One number for all axes, or one for each.";
  schema.input("anchor", {.infer_reads_data = true, .optional = true, .doc = "Start of the window along each axis."})
      .input("extent", {.infer_reads_data = true, .optional = true, .doc = "Extent of the window along each axis."})
      .arg("start", ArgType::kIntList, {}, "First element along each axis; default 0." + one_each, PerSample::kAllowed)
      .arg("end", ArgType::kIntList, {}, "End (exclusive) along each axis; default: the input's." + one_each,
           PerSample::kAllowed)
      .arg("shape", ArgType::kIntList, {}, "Extents." + one_each, PerSample::kAllowed)
      .arg("rel_start", ArgType::kFloatList, {}, "Start as a fraction of the input's extent." + one_each,
           PerSample::kAllowed)
      .arg("rel_end", ArgType::kFloatList, {}, "End as a fraction of the input's extent." + one_each,
           PerSample::kAllowed)
      .arg("rel_shape", ArgType::kFloatList, {}, "Extent as a fraction of the input's extent." + one_each,
           PerSample::kAllowed)
      .arg("axes", ArgType::kIntList, std::vector<int64_t>{1, 0},
           "The axes that the numbers are for; negative ones count from the last. The others are whole.",
           PerSample::kAllowed)
      .arg("axis_names", ArgType::kLayout, std::string("WH"),
           "The same by letters of the layout, so by default numbers are in the order x, y. Without a layout `axes` "
           "holds.")
      .arg("normalized_anchor", ArgType::kBool, true, "The input `anchor`, if float, is a fraction of the extents.")
      .arg("normalized_shape", ArgType::kBool, true, "The input `extent`, if float, is a fraction of the extents.");
}

SliceWindow::Axes SliceWindow::axes(const SampleContext& ctx, const Shape& shape, const Layout& layout) const {
  Axes axes;
  const auto add = [&](int axis) {
    for (int i = 0; i < axes.count; ++i)
      check_value(axes.axis[i] != axis, "[{}] axes: axis {} occurs twice", name_, axis);
    axes.axis[axes.count++] = axis;
  };
  if (!use_axes_ && axis_names_.ndim() > 0 && (names_given_ || !layout.empty())) {
    for (const char letter : axis_names_.str()) {
      const int axis = layout.find(letter);
      check(axis >= 0, "[{}] axis_names: axis {} is not in the input's layout \"{}\"", name_, letter, layout);
      add(axis);
    }
    return axes;
  }
  for (const int64_t axis : axes_(ctx)) {
    if (axis < -shape.ndim() || axis >= shape.ndim()) {
      fail(ErrorKind::kIndex, "[{}] axes: expected {} to {}, got {}", name_, -shape.ndim(), shape.ndim() - 1, axis);
    }
    add(static_cast<int>(axis < 0 ? axis + shape.ndim() : axis));
  }
  return axes;
}

void SliceWindow::from_arguments(const SampleContext& ctx, const Shape& shape, const Axes& axes, Window& window) const {
  const auto list = [&](const auto& arg, const char* arg_name) {
    const auto values = arg(ctx);
    check(!arg.given() || values.size() == 1 || values.size() == static_cast<size_t>(axes.count),
          "[{}] {}: expected 1 number or one for each of {} axes, got {}", name_, arg_name, axes.count, values.size());
    return values;
  };
  const std::span<const int64_t> start = list(start_, "start"), end = list(end_, "end"), extent = list(shape_, "shape");
  const std::span<const float> rel_start = list(rel_start_, "rel_start"), rel_end = list(rel_end_, "rel_end"),
                               rel_shape = list(rel_shape_, "rel_shape");
  for (int i = 0; i < axes.count; ++i) {
    const int axis = axes.axis[i];
    const int64_t n = shape[axis];
    int64_t begin = 0, stop = n;
    if (start_.given()) begin = value_of(start, i);
    if (rel_start_.given()) begin = round_relative(value_of(rel_start, i), n);
    if (end_.given()) stop = value_of(end, i);
    if (rel_end_.given()) stop = round_relative(value_of(rel_end, i), n);
    check(is_near(begin), "[{}] start: expected a position of at most 2^48, axis {} has {}", name_, axis, begin);
    if (shape_.given()) {
      stop = value_of(extent, i);
      check(is_near(stop), "[{}] shape: expected an extent of at most 2^48, axis {} has {}", name_, axis, stop);
      stop += begin;
    }
    if (rel_shape_.given()) {
      const float relative = value_of(rel_shape, i);
      stop = rel_start_.given() ? round_relative(value_of(rel_start, i) + relative, n)
                                : begin + round_relative(relative, n);
    }
    check(is_near(stop) || shape_.given(), "[{}] end: expected a position of at most 2^48, axis {} has {}", name_, axis,
          stop);
    check(stop >= begin, "[{}] end: expected an end at or behind the start, got the window [{}, {}) of axis {}", name_,
          begin, stop, axis);
    window.anchor[axis] = begin;
    window.extent[axis] = stop - begin;
  }
}

void SliceWindow::from_inputs(const SampleContext& ctx, const Shape& shape, const Axes& axes, Window& window) const {
  const Sample& anchors = ctx.input(1);
  const Sample& extents = ctx.input(2);
  for (const Sample* s : {&anchors, &extents}) {
    check(s->volume() == axes.count, "[{}]: expected anchor and extent with a number for each of {} axes, got {}",
          name_, axes.count, s->shape);
  }
  const auto read = [&](const Sample& sample, int i, bool normalized, int64_t extent) {
    double value = 0;
    visit_dtype(sample.dtype, AllTypes(), name_, [&]<typename T>() {
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
        const float number = static_cast<float>(sample.as<T>()[i]);
        value = normalized ? number * static_cast<float>(extent) : number;
      } else {
        value = static_cast<double>(sample.as<T>()[i]);
        if (std::is_floating_point_v<T> && normalized) value *= static_cast<double>(extent);
      }
    });
    return value;
  };
  const bool in_floats = is_floating(anchors.dtype) || is_floating(extents.dtype);
  for (int i = 0; i < axes.count; ++i) {
    const int axis = axes.axis[i];
    const double anchor = read(anchors, i, normalized_anchor_, shape[axis]);
    const double extent = read(extents, i, normalized_shape_, shape[axis]);
    check(extent >= 0 && std::abs(anchor) < 0x1p31 && extent < 0x1p31,
          "[{}] extent: expected 0 or more, got anchor {} and extent {} along axis {}", name_, anchor, extent, axis);
    // DALI adds floats as floats.
    const double end = in_floats ? static_cast<float>(anchor + extent) : anchor + extent;
    window.anchor[axis] = static_cast<int64_t>(std::round(anchor));
    window.extent[axis] = static_cast<int64_t>(std::round(end)) - window.anchor[axis];
  }
}

Window SliceWindow::operator()(const SampleContext& ctx, const Shape& shape, const Layout& layout) const {
  Window window{shape, shape};
  for (int i = 0; i < shape.ndim(); ++i) window.anchor[i] = 0;
  const Axes named = axes(ctx, shape, layout);
  if (positional_)
    from_inputs(ctx, shape, named, window);
  else
    from_arguments(ctx, shape, named, window);
  return window;
}

}  // namespace headrace
