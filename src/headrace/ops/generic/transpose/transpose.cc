// transpose: permutes the axes.
#include <algorithm>
#include <numeric>

#include "graph/arg.h"
#include "graph/registry.h"
#include "kernels/cpu/strided_copy.h"

namespace headrace {
namespace {

class Transpose : public SampleOperator {
 public:
  explicit Transpose(const OpSpec& spec)
      : has_perm_(spec.has("perm")),
        transpose_layout_(spec.get_bool("transpose_layout")),
        has_output_layout_(spec.has("output_layout")) {
    if (has_perm_) perm_ = spec.get_ints("perm");
    std::vector<int64_t> sorted = perm_;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i) {
      check(sorted[i] == static_cast<int64_t>(i), "[transpose] perm: expected each of 0 .. {} once, got {}",
            sorted.size() - 1, to_string(ArgValue(perm_)));
    }
    if (!has_output_layout_) return;
    output_layout_ = spec.get_layout("output_layout");
    check(!output_layout_.empty(), "[transpose] output_layout: expected a letter for each axis, got \"\"");
  }

  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    const int ndim = in.shape.ndim();
    check(!has_perm_ || static_cast<int>(perm_.size()) == ndim,
          "[transpose] perm: expected {} axes for shape {}, got {}", ndim, in.shape, to_string(ArgValue(perm_)));
    check(!has_output_layout_ || output_layout_.ndim() == ndim,
          "[transpose] output_layout: expected {} letters for shape {}, got \"{}\"", ndim, in.shape, output_layout_);
    Sample& out = ctx.output(0);
    out.describe_as(in);
    for (int i = 0; i < ndim; ++i) out.shape[i] = in.shape[source_axis(i, ndim)];
    out.layout = output_layout_;
    if (has_output_layout_ || in.layout.empty()) return;
    if (!transpose_layout_) {
      out.layout = in.layout;
      return;
    }
    for (int i = 0; i < ndim; ++i) out.layout.push_back(in.layout[source_axis(i, ndim)]);
  }

  void run(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    const int ndim = in.shape.ndim();
    int64_t in_strides[Shape::kMaxDims], strides[Shape::kMaxDims];
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; --i) {
      in_strides[i] = stride;
      stride *= in.shape[i];
    }
    for (int i = 0; i < ndim; ++i) strides[i] = in_strides[source_axis(i, ndim)];
    const Sample& out = ctx.output(0);
    strided_copy(in.data, {strides, static_cast<size_t>(ndim)}, out.data, out.shape, dtype_size(out.dtype));
  }

 private:
  // The input axis that axis i of the output comes from.
  int source_axis(int i, int ndim) const {
    return has_perm_ ? static_cast<int>(perm_[static_cast<size_t>(i)]) : ndim - 1 - i;
  }

  const bool has_perm_;
  const bool transpose_layout_;
  const bool has_output_layout_;
  std::vector<int64_t> perm_;
  Layout output_layout_;
};

}  // namespace

void register_generic_transpose(Registry& r) {
  r.add<Transpose>(
      Schema("transpose")
          .doc("Permutes the axes: axis i of the output is axis perm[i] of the input.")
          .input("data", {.doc = "Any tensor."})
          .arg("perm", ArgType::kIntList, {}, "The input's axes in the order of the output; reversed by default.")
          .arg("transpose_layout", ArgType::kBool, true, "Permute the letters of the layout along with the axes.")
          .arg("output_layout", ArgType::kLayout, {}, "Layout of the output, whatever `transpose_layout` says."));
}

}  // namespace headrace
