// _conditional.not_ and _conditional.validate_logical: the logic of conditions.
#include "graph/arg.h"
#include "graph/registry.h"

namespace headrace {
namespace {

// The value of a scalar sample, compared with zero.
bool is_true(const Sample& sample, std::string_view what) {
  bool result = false;
  visit_dtype(sample.dtype, AllTypes(), what, [&]<typename T>() {
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
      result = static_cast<float>(*sample.as<T>()) != 0;
    } else {
      result = *sample.as<T>() != T{};
    }
  });
  return result;
}

class Not : public SampleOperator {
 public:
  explicit Not(const OpSpec&) {}

  void infer(SampleContext& ctx) const override {
    check(ctx.input(0).shape.ndim() == 0, "`not`: expected a scalar (no axes), got a sample of shape {}",
          ctx.input(0).shape);
    ctx.output(0).dtype = DType::kBool;
    ctx.output(0).shape = Shape{};
  }

  void run(SampleContext& ctx) const override { *ctx.output(0).as<bool>() = !is_true(ctx.input(0), "`not`"); }
};

class ValidateLogical : public SampleOperator {
 public:
  explicit ValidateLogical(const OpSpec& spec)
      : expression_(spec.get_string("expression_name")), side_(spec.get_string("expression_side")) {}

  void infer(SampleContext& ctx) const override {
    const Sample& sample = ctx.input(0);
    check(sample.shape.ndim() == 0, "`{}`: the {} operand must be a scalar (no axes), got a sample of shape {}",
          expression_, side_, sample.shape);
    check(sample.dtype == DType::kBool,
          "`{}`: the {} operand must be a bool, got {}; compare it with something, or cast it", expression_, side_,
          dtype_name(sample.dtype));
    ctx.output(0).describe_as(sample);
  }

  void run(SampleContext&) const override {}

 private:
  std::string expression_;
  std::string side_;
};

}  // namespace

void register_conditional_logical(Registry& r) {
  r.add<Not>(Schema("_conditional.not_")
                 .doc("True where the scalar is zero.")
                 .input("data", {.doc = "A scalar of any numeric type."}));
  r.add<ValidateLogical>(Schema("_conditional.validate_logical")
                             .doc("Passes a bool scalar on, and refuses anything else: an operand of `and` or `or`.")
                             .input("data", {.doc = "A bool scalar."})
                             .required_arg("expression_name", ArgType::kString, "`and` or `or`, for messages.")
                             .required_arg("expression_side", ArgType::kString, "`left` or `right`, for messages.")
                             .view());
}

}  // namespace headrace
