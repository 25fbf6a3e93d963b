// constant: the same small tensor for every sample; Python numbers and arrays in a graph become this.
#include <cstring>

#include "core/convert.h"
#include "graph/registry.h"

namespace headrace {
namespace {

class Constant : public SampleOperator {
 public:
  explicit Constant(const OpSpec& spec) : layout_(spec.get_layout("layout")) {
    const bool floats = spec.has("fdata");
    check(floats != spec.has("idata"), "[constant]: expected either fdata or idata, got {}",
          floats ? "both" : "neither");
    dtype_ = spec.has("dtype") ? spec.get_dtype("dtype") : floats ? DType::kFloat32 : DType::kInt32;
    check(dtype_ != DType::kNone, "[constant] dtype: expected a type of numbers, got NO_TYPE");
    const auto count = static_cast<int64_t>(floats ? spec.get_floats("fdata").size() : spec.get_ints("idata").size());
    shape_ = spec.has("shape") ? Shape(spec.get_ints("shape")) : Shape{count};
    check(layout_.empty() || layout_.ndim() == shape_.ndim(), "[constant] layout: expected {} letters, got \"{}\"",
          shape_.ndim(), layout_);
    const int64_t volume = checked_volume(shape_, dtype_size(dtype_), "[constant] shape");
    check(count == volume || count == 1, "[constant] shape: {} has {} elements, got {} values", shape_, volume, count);
    if (floats)
      fill(spec.get_floats("fdata"), volume);
    else
      fill(spec.get_ints("idata"), volume);
  }

  void infer(SampleContext& ctx) const override {
    Sample& out = ctx.output(0);
    out.dtype = dtype_;
    out.shape = shape_;
    out.layout = layout_;
  }

  void run(SampleContext& ctx) const override {
    if (!bytes_.empty()) std::memcpy(ctx.output(0).data, bytes_.data(), bytes_.size());
  }

 private:
  // One value stands for all.
  template <typename T> void fill(std::vector<T> values, int64_t volume) {
    if (static_cast<int64_t>(values.size()) != volume) values.assign(static_cast<size_t>(volume), values[0]);
    bytes_.resize(values.size() * dtype_size(dtype_));
    convert_array(values.data(), dtype_of<T>, bytes_.data(), dtype_, volume);
  }

  DType dtype_;
  Shape shape_;
  const Layout layout_;
  std::vector<uint8_t> bytes_;
};

}  // namespace

void register_generic_constant(Registry& r) {
  r.add<Constant>(
      Schema("constant")
          .doc("The same tensor for every sample. Exactly one of `fdata` and `idata` is needed.")
          .arg("fdata", ArgType::kFloatList, {}, "Elements in C order, or one value for all.")
          .arg("idata", ArgType::kIntList, {}, "Elements in C order, or one value for all.")
          .arg("shape", ArgType::kIntList, {}, "Shape; by default 1-D with as many elements as given.")
          .arg("dtype", ArgType::kDType, {}, "Element type; float for `fdata`, int32 for `idata` by default.")
          .arg("layout", ArgType::kLayout, "", "Layout of the tensor."));
}

}  // namespace headrace
