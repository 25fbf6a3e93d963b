// zeros, ones, zeros_like, ones_like: tensors of one value.
#include <cstring>

#include "core/convert.h"
#include "graph/arg.h"
#include "graph/registry.h"

namespace headrace {
namespace {

void fill_with(const Sample& out, bool one) {
  if (out.bytes() == 0) return;
  if (!one) {
    std::memset(out.data, 0, out.bytes());
    return;
  }
  visit_dtype(out.dtype, AllTypes(), "dtype",
              [&]<typename T>() { std::fill(out.as<T>(), out.as<T>() + out.volume(), convert<T>(uint8_t{1})); });
}

template <bool kOne> class Filled : public SampleOperator {
 public:
  explicit Filled(const OpSpec& spec)
      : about_(spec.about("shape")), shape_(spec, "shape"), dtype_(spec.get_dtype("dtype")) {
    if (spec.has("layout")) layout_ = spec.get_layout("layout");
    check(dtype_ != DType::kNone, "{}: expected a type of numbers, got NO_TYPE", spec.about("dtype"));
  }

  void infer(SampleContext& ctx) const override {
    Sample& out = ctx.output(0);
    out.dtype = dtype_;
    out.shape = Shape(shape_(ctx));
    checked_volume(out.shape, dtype_size(dtype_), about_);
    check(layout_.empty() || layout_.ndim() == out.shape.ndim(), "{}: {} doesn't fit the layout \"{}\"", about_,
          out.shape, layout_);
    out.layout = layout_;
  }

  void run(SampleContext& ctx) const override { fill_with(ctx.output(0), kOne); }

 private:
  const std::string about_;
  const ArgList<int64_t> shape_;
  const DType dtype_;
  Layout layout_;
};

template <bool kOne> class FilledLike : public SampleOperator {
 public:
  explicit FilledLike(const OpSpec& spec) : dtype_(spec.has("dtype") ? spec.get_dtype("dtype") : DType::kNone) {}

  void infer(SampleContext& ctx) const override {
    ctx.output(0).describe_as(ctx.input(0));
    if (dtype_ != DType::kNone) ctx.output(0).dtype = dtype_;
  }

  void run(SampleContext& ctx) const override { fill_with(ctx.output(0), kOne); }

 private:
  const DType dtype_;
};

Schema filled_schema(std::string name, std::string value) {
  return Schema(std::move(name))
      .doc("A tensor of " + value + ".")
      .devices({"cpu"})
      .arg("shape", ArgType::kIntList, {}, "Shape; a scalar by default.", PerSample::kAllowed)
      .arg("dtype", ArgType::kDType, static_cast<int64_t>(DType::kInt32), "Element type.")
      .arg("layout", ArgType::kLayout, {}, "Layout of the output.");
}

Schema filled_like_schema(std::string name, std::string value) {
  return Schema(std::move(name))
      .doc("A tensor of " + value + " with the shape and layout of the input.")
      .devices({"cpu"})
      .input("data_like", {.shape_only = true, .doc = "Gives shape, layout and type."})
      .arg("dtype", ArgType::kDType, {}, "Element type; the input's by default.");
}

}  // namespace

void register_generic_zeros(Registry& r) {
  r.add<Filled<false>>(filled_schema("zeros", "zeros"));
  r.add<Filled<true>>(filled_schema("ones", "ones"));
  r.add<FilledLike<false>>(filled_like_schema("zeros_like", "zeros"));
  r.add<FilledLike<true>>(filled_like_schema("ones_like", "ones"));
}

}  // namespace headrace
