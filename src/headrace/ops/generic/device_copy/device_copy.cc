// _to_gpu, _to_cpu: what DataNode.gpu() and .cpu() add to a graph. The engine moves the bytes where devices differ.
#include "graph/registry.h"

namespace headrace {
namespace {

class DeviceCopy : public SampleOperator {
 public:
  explicit DeviceCopy(const OpSpec&) {}
  void infer(SampleContext& ctx) const override { ctx.output(0).describe_as(ctx.input(0)); }
  void run(SampleContext&) const override {}
};

}  // namespace

void register_generic_device_copy(Registry& r) {
  r.add<DeviceCopy>(Schema("_to_gpu").doc("The same tensor on the GPU.").view().input("data").devices({"gpu"}));
  r.add<DeviceCopy>(Schema("_to_cpu").doc("The same tensor on the CPU.").view().input("data").devices({"cpu"}));
}

}  // namespace headrace
