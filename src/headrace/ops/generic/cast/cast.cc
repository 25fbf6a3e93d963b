// cast, cast_like: other element types with the values rounded half away from zero and clamped (core/convert.h).
#include "core/convert.h"
#include "graph/arg.h"
#include "graph/registry.h"

namespace headrace {
namespace {

class Cast : public SampleOperator {
 public:
  explicit Cast(const OpSpec& spec) : dtype_(spec.get_dtype("dtype")) {
    check_value(dtype_ != DType::kNone, "{}: expected a type of numbers, got NO_TYPE", spec.about("dtype"));
  }

  void infer(SampleContext& ctx) const override {
    ctx.output(0).describe_as(ctx.input(0));
    ctx.output(0).dtype = dtype_;
  }

  void run(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    convert_array(in.data, in.dtype, ctx.output(0).data, dtype_, in.volume());
  }

 private:
  const DType dtype_;
};

class CastLike : public SampleOperator {
 public:
  explicit CastLike(const OpSpec&) {}

  void infer(SampleContext& ctx) const override {
    ctx.output(0).describe_as(ctx.input(0));
    ctx.output(0).dtype = ctx.input(1).dtype;
  }

  void run(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    convert_array(in.data, in.dtype, ctx.output(0).data, ctx.output(0).dtype, in.volume());
  }
};

}  // namespace

void register_generic_cast(Registry& r) {
  const char* const rule =
      " Floats become integers rounded to nearest, ties away from zero; what the type cannot hold becomes its nearest "
      "value; NaN becomes 0 (8 and 16 bits) or the type's smallest value. A number is true unless it rounds to zero.";
  r.add<Cast>(Schema("cast")
                  .doc(std::string("Converts the elements to another type.") + rule)
                  .input("data", {.doc = "Any tensor."})
                  .required_arg("dtype", ArgType::kDType, "Type of the output."));
  r.add<CastLike>(Schema("cast_like")
                      .doc(std::string("Converts the elements of the first input to the type of the second.") + rule)
                      .input("data", {.doc = "Any tensor."})
                      .input("dtype_like", {.shape_only = true, .doc = "Only its type is used."}));
}

}  // namespace headrace
