// external_source: batches that the program feeds in. The executor takes them from its queue; nothing is computed.
#include "graph/registry.h"

namespace headrace {
namespace {

class ExternalSource final : public Operator {
 public:
  explicit ExternalSource(const OpSpec& spec) {
    check_value(spec.num_outputs >= 1, "[external_source] num_outputs: expected at least 1, got {}", spec.num_outputs);
  }
};

}  // namespace

void register_python_external_source(Registry& r) {
  r.add<ExternalSource>(
      Schema("external_source")
          .doc("Data from Python: from a callable or iterable, or fed in with Pipeline.feed_input().")
          .fed()
          .outputs_from_arg(0, "num_outputs")
          .arg("num_outputs", ArgType::kInt, 1, "Outputs of the source.")
          .arg("blocking", ArgType::kBool, false, "Wait for data that is not there yet, instead of raising.")
          .arg("repeat_last", ArgType::kBool, false, "Feed the last batch again when there is no new one.")
          .arg("no_copy", ArgType::kBool, false, "Use the arrays' memory in place; they must not change afterwards.")
          .arg("dtype", ArgType::kDType, {}, "Element type that the data must have.")
          .arg("ndim", ArgType::kInt, {}, "Number of axes that samples must have.")
          .arg("layout", ArgType::kLayout, {}, "Layout of the samples."));
}

}  // namespace headrace
