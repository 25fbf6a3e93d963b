// expand_dims: inserts axes of extent 1.
#include <algorithm>

#include "graph/arg.h"
#include "graph/registry.h"

namespace headrace {
namespace {

class ExpandDims : public SampleOperator {
 public:
  explicit ExpandDims(const OpSpec& spec) {
    const std::vector<int64_t>& axes = spec.get_ints("axes");
    const Layout letters = spec.has("new_axis_names") ? spec.get_layout("new_axis_names") : Layout();
    named_ = !letters.empty();
    check(!named_ || letters.ndim() == static_cast<int>(axes.size()),
          "[expand_dims] new_axis_names: expected a letter for each of the {} axes, got \"{}\"", axes.size(), letters);
    for (size_t i = 0; i < axes.size(); ++i) {
      check(axes[i] >= 0, "[expand_dims] axes: expected places in the output from 0 on, got {}", axes[i]);
      new_axes_.push_back({axes[i], named_ ? letters[static_cast<int>(i)] : '\0'});
    }
    std::sort(new_axes_.begin(), new_axes_.end());
    for (size_t i = 1; i < new_axes_.size(); ++i) {
      check(new_axes_[i].first != new_axes_[i - 1].first, "[expand_dims] axes: {} is named twice", new_axes_[i].first);
    }
  }

  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    Sample& out = ctx.output(0);
    out.describe_as(in);
    check(!named_ || in.layout.ndim() == in.shape.ndim(),
          "[expand_dims] new_axis_names: needs an input with a layout, got shape {} without one", in.shape);
    if (!named_ && !new_axes_.empty()) out.layout = {};
    for (const auto& [axis, letter] : new_axes_) {
      check(axis <= out.shape.ndim(), "[expand_dims] axes: {} is beyond the {} axes of the output for shape {}", axis,
            in.shape.ndim() + static_cast<int>(new_axes_.size()), in.shape);
      out.shape.insert(static_cast<int>(axis), 1);
      if (named_) out.layout.insert(static_cast<int>(axis), letter);
    }
  }

  void run(SampleContext&) const override {}

 private:
  std::vector<std::pair<int64_t, char>> new_axes_;  // in ascending order
  bool named_;
};

}  // namespace

void register_generic_expand_dims(Registry& r) {
  r.add<ExpandDims>(
      Schema("expand_dims")
          .doc("Inserts axes of extent 1, without copying.")
          .view()
          .input("data", {.doc = "Any tensor."})
          .required_arg("axes", ArgType::kIntList, "Places of the new axes in the output.")
          .arg("new_axis_names", ArgType::kLayout, "",
               "Letters of the new axes, in the order of `axes`; needs an input with a layout. Without them the output "
               "has no layout."));
}

}  // namespace headrace
