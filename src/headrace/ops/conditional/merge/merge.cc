// _conditional.merge: brings two branches together, by the predicate that split them. Nothing is copied.
#include "graph/arg.h"
#include "graph/registry.h"
#include "ops/conditional/predicate.h"

namespace headrace {
namespace {

class Merge : public SampleOperator {
 public:
  explicit Merge(const OpSpec& spec) : predicate_(spec) {}

  void infer(SampleContext& ctx) const override {
    const int branch = predicate_(ctx) ? 0 : 1;
    const Sample& chosen = ctx.input(branch);
    if (!chosen.present()) return;  // a function that some samples have not returned from yet
    ctx.set_viewed_input(branch);
    ctx.output(0).describe_as(chosen);
  }

  void run(SampleContext&) const override {}

 private:
  Predicate predicate_;
};

}  // namespace

void register_conditional_merge(Registry& r) {
  Schema schema("_conditional.merge");
  schema
      .doc(
          "Takes each sample from the branch that its predicate names: input 0 where it is true, else input 1. Both "
          "must have the same type, number of axes and layout. Absent where that branch has no sample.")
      .input("true_branch", {.doc = "Samples whose predicate is true."})
      .input("false_branch", {.doc = "The other samples."})
      .merge();
  Predicate::add_arg(schema);
  r.add<Merge>(std::move(schema));
}

}  // namespace headrace
