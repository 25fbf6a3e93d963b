// _conditional.split: a sample goes to one of two branches, by its predicate. Nothing is copied.
#include "graph/arg.h"
#include "graph/registry.h"
#include "ops/conditional/predicate.h"

namespace headrace {
namespace {

class Split : public SampleOperator {
 public:
  explicit Split(const OpSpec& spec) : predicate_(spec) {}

  void infer(SampleContext& ctx) const override {
    const int branch = predicate_(ctx) ? 0 : 1;
    ctx.output(branch).describe_as(ctx.input(0));
  }

  void run(SampleContext&) const override {}

 private:
  Predicate predicate_;
};

}  // namespace

void register_conditional_split(Registry& r) {
  Schema schema("_conditional.split");
  schema
      .doc(
          "Sends each sample to one of two branches: output 0 has the samples whose predicate is true, output 1 the "
          "others. For the other branch a sample is absent, and what depends on it is left out.")
      .input("data", {.doc = "Any sample."})
      .split();
  Predicate::add_arg(schema);
  schema.arg("_if_stmt", ArgType::kBool, false, "The predicate is that of an if statement, for messages.");
  r.add<Split>(std::move(schema));
}

}  // namespace headrace
