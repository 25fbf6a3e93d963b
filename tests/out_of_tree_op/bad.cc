// A library whose registration goes wrong, in the way that the environment variable HEADRACE_BAD_PLUGIN says.
#include <headrace/op.h>

#include <cstdlib>
#include <stdexcept>

namespace {

using namespace headrace;

class Nothing : public SampleOperator {
 public:
  explicit Nothing(const OpSpec&) {}
  void infer(SampleContext& ctx) const override { ctx.output(0).describe_as(ctx.input(0)); }
  void run(SampleContext&) const override {}
};

struct Foreign {};

}  // namespace

HEADRACE_PLUGIN(registry) {
  const char* variable = std::getenv("HEADRACE_BAD_PLUGIN");
  const std::string how = variable ? variable : "";
  registry.add<Nothing>(Schema("bad.first").input("data"));
  if (how == "throws") throw std::runtime_error("no licence");
  if (how == "throws_foreign") throw Foreign();
  if (how == "mistyped")
    registry.add<Nothing>(Schema("bad.typed").arg("size", ArgType::kInt, std::string("x"), "Size."));
  if (how == "twice") registry.add<Nothing>(Schema("bad.first").input("data"));
  if (how.starts_with("name:")) registry.add<Nothing>(Schema(how.substr(5)).input("data"));
}
