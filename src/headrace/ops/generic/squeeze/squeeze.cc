// squeeze: removes axes of extent 1.
#include <algorithm>

#include "graph/arg.h"
#include "graph/registry.h"

namespace headrace {
namespace {

class Squeeze : public SampleOperator {
 public:
  explicit Squeeze(const OpSpec& spec) : axes_(spec, "axes"), by_name_(spec.has("axis_names")) {
    check(axes_.given() != by_name_, "[squeeze]: expected either axes or axis_names, got {}",
          by_name_ ? "both" : "neither");
    if (by_name_) axis_names_ = spec.get_layout("axis_names");
  }

  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    Sample& out = ctx.output(0);
    out.describe_as(in);
    bool removed[Shape::kMaxDims] = {};
    if (by_name_) {
      for (const char letter : axis_names_.str()) remove(in, in.layout.find(letter), std::string(1, letter), removed);
    } else {
      for (const int64_t axis : axes_(ctx)) {
        remove(in, axis < 0 ? axis + in.shape.ndim() : axis, std::to_string(axis), removed);
      }
    }
    for (int axis = in.shape.ndim() - 1; axis >= 0; --axis) {
      if (!removed[axis]) continue;
      out.shape.erase(axis);
      if (!out.layout.empty()) out.layout.erase(axis);
    }
  }

  void run(SampleContext&) const override {}

 private:
  // `axis`: in the input, out of range if there is none; `text`: as the user named it.
  static void remove(const Sample& in, int64_t axis, const std::string& text, bool* removed) {
    check(axis >= 0 && axis < in.shape.ndim(), "[squeeze] axes: no axis {} in a sample of shape {}, layout \"{}\"",
          text, in.shape, in.layout);
    check(in.shape[static_cast<int>(axis)] == 1, "[squeeze] axes: expected extent 1 on axis {}, got shape {}", text,
          in.shape);
    check(!removed[axis], "[squeeze] axes: axis {} is named twice", text);
    removed[axis] = true;
  }

  const ArgList<int64_t> axes_;
  const bool by_name_;
  Layout axis_names_;
};

}  // namespace

void register_generic_squeeze(Registry& r) {
  r.add<Squeeze>(
      Schema("squeeze")
          .doc("Removes axes of extent 1, without copying. Exactly one of `axes` and `axis_names` is needed.")
          .view()
          .input("data", {.doc = "Any tensor."})
          .arg("axes", ArgType::kIntList, {}, "Axes to remove; negative ones count from the last.", PerSample::kAllowed)
          .arg("axis_names", ArgType::kLayout, {}, "Letters of the axes to remove."));
}

}  // namespace headrace
