// cat: joins tensors along an axis that they have.
#include "graph/arg.h"
#include "graph/registry.h"
#include "kernels/cpu/join_blocks.h"

namespace headrace {
namespace {

class Cat : public SampleOperator {
 public:
  explicit Cat(const OpSpec& spec) : axis_(spec.get_int("axis")) {
    if (!spec.has("axis_name")) return;
    check(!spec.has("axis"), "[cat]: expected one of axis and axis_name, got both");
    const std::string& name = spec.get_string("axis_name");
    check(name.size() == 1, "[cat] axis_name: expected one letter, got \"{}\"", name);
    letter_ = name[0];
  }

  void infer(SampleContext& ctx) const override {
    const Sample& first = ctx.input(0);
    const int axis = join_axis(first);
    int model = 0;  // the first with elements: the others have its extents
    while (model + 1 < ctx.num_inputs() && ctx.input(model).volume() == 0) ++model;
    Sample& out = ctx.output(0);
    out.describe_as(first);
    out.shape = ctx.input(model).volume() > 0 ? ctx.input(model).shape : first.shape;
    int64_t extent = 0;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Sample& in = ctx.input(i);
      check(in.dtype == first.dtype && in.shape.ndim() == first.shape.ndim(),
            "[cat] input {}: expected {} with {} axes like input 0, got {} of shape {}", i, dtype_name(first.dtype),
            first.shape.ndim(), dtype_name(in.dtype), in.shape);
      const bool fitting = fits(in.shape, out.shape, axis);
      check(fitting || in.volume() == 0, "[cat] input {}: expected shape {} but for axis {}, got {}", i, out.shape,
            axis, in.shape);
      if (fitting) extent += in.shape[axis];
    }
    out.shape[axis] = extent;
  }

  void run(SampleContext& ctx) const override {
    const Sample& out = ctx.output(0);
    if (out.bytes() == 0) return;
    const int axis = join_axis(ctx.input(0));
    int64_t count = 1;
    for (int i = 0; i < axis; ++i) count *= out.shape[i];
    const auto sources = ctx.arena().allocate_array<BlockSource>(static_cast<size_t>(ctx.num_inputs()));
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      sources[static_cast<size_t>(i)] = {ctx.input(i).data, ctx.input(i).bytes() / static_cast<size_t>(count)};
    }
    join_blocks(sources, count, out.data);
  }

 private:
  int join_axis(const Sample& first) const {
    const int ndim = first.shape.ndim();
    if (letter_ != '\0') {
      const int axis = first.layout.find(letter_);
      check(axis >= 0, "[cat] axis_name: expected a letter of the layout \"{}\", got \"{}\"", first.layout, letter_);
      return axis;
    }
    check(ndim > 0, "[cat]: scalars have no axis to join; use stack");
    check(axis_ >= -ndim && axis_ < ndim, "[cat] axis: expected {} .. {}, got {}", -ndim, ndim - 1, axis_);
    return static_cast<int>(axis_ < 0 ? axis_ + ndim : axis_);
  }

  // Equal extents on all axes but one.
  static bool fits(const Shape& a, const Shape& b, int axis) {
    for (int i = 0; i < a.ndim(); ++i) {
      if (i != axis && a[i] != b[i]) return false;
    }
    return true;
  }

  const int64_t axis_;
  char letter_ = '\0';
};

}  // namespace

void register_generic_cat(Registry& r) {
  r.add<Cat>(Schema("cat")
                 .doc("Joins tensors along an axis. They agree in type and in all other extents; the layout is that of "
                      "the first. Inputs without elements are left out.")
                 .variadic_input("inputs", 1, 999, {.doc = "Tensors with at least one axis."})
                 .arg("axis", ArgType::kInt, 0, "Axis to join along; negative ones count from the last.")
                 .arg("axis_name", ArgType::kString, {}, "Letter of that axis in the first input's layout."));
}

}  // namespace headrace
