// one_hot: class numbers as vectors that are on at the class and off elsewhere.
#include "core/convert.h"
#include "graph/arg.h"
#include "graph/registry.h"

namespace headrace {
namespace {

// `in`: (outer, inner) class numbers; `out`: (outer, classes, inner).
template <typename In, typename Out>
void encode(const In* in, Out* out, int64_t outer, int64_t classes, int64_t inner, Out on, Out off) {
  std::fill(out, out + outer * classes * inner, off);
  for (int64_t o = 0; o < outer; ++o, in += inner, out += classes * inner) {
    for (int64_t i = 0; i < inner; ++i) {
      const auto label = convert_truncated<int64_t>(in[i]);
      if (label >= 0 && label < classes) out[label * inner + i] = on;
    }
  }
}

template <typename In> void check_classes(const In* in, int64_t count, int64_t classes) {
  for (int64_t i = 0; i < count; ++i) {
    const auto label = convert_truncated<int64_t>(in[i]);
    check(label >= 0 && label < classes, "[one_hot] labels: expected a class of 0 .. {}, got {}", classes - 1, label);
  }
}

class OneHot : public SampleOperator {
 public:
  explicit OneHot(const OpSpec& spec)
      : num_classes_(spec.get_int("num_classes")),
        dtype_(spec.get_dtype("dtype")),
        on_(static_cast<float>(spec.get_float("on_value"))),
        off_(static_cast<float>(spec.get_float("off_value"))),
        check_range_(spec.get_bool("check_range")),
        axis_given_(spec.has("axis")),
        axis_(spec.get_int("axis")) {
    check(num_classes_ >= 0, "[one_hot] num_classes: expected 0 or more, got {}", num_classes_);
    check(dtype_ != DType::kNone, "[one_hot] dtype: expected a type of numbers, got NO_TYPE");
    if (!spec.has("axis_name")) return;
    const std::string& name = spec.get_string("axis_name");
    check(name.size() == 1, "[one_hot] axis_name: expected one letter, got \"{}\"", name);
    letter_ = name[0];
  }

  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    Sample& out = ctx.output(0);
    out.source = in.source;
    out.dtype = dtype_;
    out.shape = in.volume() == 1 && !axis_given_ ? Shape() : in.shape;
    const int axis = class_axis(out.shape.ndim());
    if (letter_ != '\0') {
      out.layout = out.shape.ndim() > 0 ? in.layout : Layout();
      check(out.layout.ndim() == out.shape.ndim(),
            "[one_hot] axis_name: needs an input with a layout, got shape {} "
            "without one",
            in.shape);
      out.layout.insert(axis, letter_);
    }
    out.shape.insert(axis, num_classes_);
  }

  void run(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    const Sample& out = ctx.output(0);
    int64_t outer = 1;
    const int axis = class_axis(out.shape.ndim() - 1);
    for (int i = 0; i < axis; ++i) outer *= out.shape[i];
    const int64_t inner = outer > 0 ? in.volume() / outer : 0;
    visit_dtype(dtype_, AllTypes(), "[one_hot] dtype", [&]<typename Out>() {
      visit_dtype(in.dtype, AllTypes(), "[one_hot] input", [&]<typename In>() {
        if (check_range_) check_classes(in.as<const In>(), in.volume(), num_classes_);
        encode(in.as<const In>(), out.as<Out>(), outer, num_classes_, inner, convert<Out>(on_), convert<Out>(off_));
      });
    });
  }

 private:
  int class_axis(int ndim) const {
    check(axis_ >= -1 && axis_ <= ndim, "[one_hot] axis: expected -1 .. {}, got {}", ndim, axis_);
    return axis_ < 0 ? ndim : static_cast<int>(axis_);
  }

  const int64_t num_classes_;
  const DType dtype_;
  const float on_;
  const float off_;
  const bool check_range_;
  const bool axis_given_;
  const int64_t axis_;
  char letter_ = '\0';
};

}  // namespace

void register_generic_one_hot(Registry& r) {
  r.add<OneHot>(
      Schema("one_hot")
          .doc("Turns class numbers into vectors of `num_classes` values: `on_value` at the class, `off_value` "
               "elsewhere. Numbers outside 0 .. num_classes - 1 give only `off_value`; fractions are cut off. A sample "
               "of one element gives a plain vector unless `axis` is given.")
          .input("labels", {.doc = "Class numbers of any numeric type and shape."})
          .arg("num_classes", ArgType::kInt, 0, "Number of classes: the extent of the new axis.")
          .arg("axis", ArgType::kInt, -1, "Place of the new axis in the output; -1: last.")
          .arg("axis_name", ArgType::kString, {}, "Letter of the new axis; without it the output has no layout.")
          .arg("dtype", ArgType::kDType, static_cast<int64_t>(DType::kFloat32), "Type of the output.")
          .arg("on_value", ArgType::kFloat, 1.0, "Value at the class, rounded and clamped to `dtype`.")
          .arg("off_value", ArgType::kFloat, 0.0, "Value elsewhere, rounded and clamped to `dtype`.")
          .arg("check_range", ArgType::kBool, false,
               "A number outside 0 .. num_classes - 1 is an error that names it and its sample. headrace's own."));
}

}  // namespace headrace
