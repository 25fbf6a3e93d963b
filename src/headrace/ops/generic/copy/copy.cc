// copy: the same tensor in memory of its own.
#include <cstring>

#include "graph/registry.h"

namespace headrace {
namespace {

class Copy : public SampleOperator {
 public:
  explicit Copy(const OpSpec&) {}

  void infer(SampleContext& ctx) const override { ctx.output(0).describe_as(ctx.input(0)); }

  void run(SampleContext& ctx) const override {
    if (const size_t bytes = ctx.input(0).bytes()) std::memcpy(ctx.output(0).data, ctx.input(0).data, bytes);
  }
};

}  // namespace

void register_generic_copy(Registry& r) {
  r.add<Copy>(Schema("copy").doc("Copies the tensor.").input("data", {.doc = "Any tensor."}));
}

}  // namespace headrace
