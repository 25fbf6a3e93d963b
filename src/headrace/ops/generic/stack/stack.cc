// stack: joins tensors of one shape along a new axis.
#include "graph/arg.h"
#include "graph/registry.h"
#include "kernels/cpu/join_blocks.h"

namespace headrace {
namespace {

class Stack : public SampleOperator {
 public:
  explicit Stack(const OpSpec& spec) : axis_(spec.get_int("axis")) {
    if (!spec.has("axis_name")) return;
    const std::string& name = spec.get_string("axis_name");
    check(name.size() == 1, "[stack] axis_name: expected one letter, got \"{}\"", name);
    letter_ = name[0];
  }

  void infer(SampleContext& ctx) const override {
    const Sample& first = ctx.input(0);
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      const Sample& in = ctx.input(i);
      check(in.dtype == first.dtype && in.shape == first.shape,
            "[stack] input {}: expected {} of shape {} like input 0, got {} of shape {}", i, dtype_name(first.dtype),
            first.shape, dtype_name(in.dtype), in.shape);
    }
    const int axis = new_axis(first.shape.ndim());
    Sample& out = ctx.output(0);
    out.describe_as(first);
    out.shape.insert(axis, ctx.num_inputs());
    if (letter_ == '\0') {
      out.layout = {};
      return;
    }
    check(first.layout.ndim() == first.shape.ndim(),
          "[stack] axis_name: needs inputs with a layout, got shape {} without one", first.shape);
    out.layout.insert(axis, letter_);
  }

  void run(SampleContext& ctx) const override {
    const Sample& out = ctx.output(0);
    if (out.bytes() == 0) return;
    int64_t count = 1;
    for (int i = 0; i < new_axis(out.shape.ndim() - 1); ++i) count *= out.shape[i];
    const auto sources = ctx.arena().allocate_array<BlockSource>(static_cast<size_t>(ctx.num_inputs()));
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      sources[static_cast<size_t>(i)] = {ctx.input(i).data, ctx.input(i).bytes() / static_cast<size_t>(count)};
    }
    join_blocks(sources, count, out.data);
  }

 private:
  // Place of the new axis in the output of inputs with `ndim` axes. DALI takes -ndim .. ndim, which for scalars is 0.
  int new_axis(int ndim) const {
    check(axis_ >= -ndim && axis_ <= ndim, "[stack] axis: expected {} .. {}, got {}", -ndim, ndim, axis_);
    return static_cast<int>(axis_ < 0 ? axis_ + ndim + 1 : axis_);
  }

  const int64_t axis_;
  char letter_ = '\0';
};

}  // namespace

void register_generic_stack(Registry& r) {
  r.add<Stack>(Schema("stack")
                   .doc("Joins tensors of equal type and shape along a new axis.")
                   .variadic_input("inputs", 1, 999, {.doc = "Tensors of equal type and shape, also scalars."})
                   .arg("axis", ArgType::kInt, 0, "Place of the new axis in the output; -1 is its last axis.")
                   .arg("axis_name", ArgType::kString, {},
                        "Letter of the new axis, for inputs with a layout; without it the output has no layout."));
}

}  // namespace headrace
