// shapes, _shape: the extents of a sample as a tensor; DataNode.shape() becomes _shape.
#include "core/convert.h"
#include "graph/registry.h"

namespace headrace {
namespace {

bool can_hold_extents(DType t) {
  return t == DType::kInt32 || t == DType::kUInt32 || t == DType::kInt64 || t == DType::kUInt64 ||
         t == DType::kFloat32 || t == DType::kFloat64;
}

class Shapes : public SampleOperator {
 public:
  explicit Shapes(const OpSpec& spec) : dtype_(spec.get_dtype("dtype")) {
    check(can_hold_extents(dtype_), "{}: expected a type of 32 or 64 bits, got {}", spec.about("dtype"),
          dtype_name(dtype_));
  }

  void infer(SampleContext& ctx) const override {
    Sample& out = ctx.output(0);
    out.dtype = dtype_;
    out.shape = {ctx.input(0).shape.ndim()};
    out.source = ctx.input(0).source;
  }

  void run(SampleContext& ctx) const override {
    const Shape& shape = ctx.input(0).shape;
    convert_array(shape.begin(), DType::kInt64, ctx.output(0).data, dtype_, shape.ndim());
  }

 private:
  const DType dtype_;
};

Schema shapes_schema(std::string name) {
  return Schema(std::move(name))
      .doc("The sample's extents, outermost first, as a 1-D tensor.")
      .input("data", {.shape_only = true, .doc = "Any tensor; only its shape is used."})
      .arg("dtype", ArgType::kDType, static_cast<int64_t>(DType::kInt64), "Element type, of 32 or 64 bits.");
}

}  // namespace

void register_generic_shape(Registry& r) {
  r.add<Shapes>(shapes_schema("_shape"));
  r.add<Shapes>(shapes_schema("shapes").deprecated_arg("type", "dtype").deprecated("Use DataNode.shape() instead."));
}

}  // namespace headrace
