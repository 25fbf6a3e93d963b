// crop: cuts a window of given size and place out of images, volumes and sequences.
#include "graph/registry.h"
#include "ops/geometry/crop_window.h"
#include "ops/geometry/window_operator.h"

namespace headrace {

class Crop final : public SampleOperator {
 public:
  explicit Crop(const OpSpec& spec) : base_(spec), window_(spec) {}

  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    base_.infer(ctx, window_(ctx, in.shape, in.layout));
  }
  std::optional<Region> input_region(const SampleContext& ctx, int i, const Region& needed) const override {
    return base_.input_region(ctx, i, needed);
  }
  bool writes_regions() const override { return true; }
  void run(SampleContext& ctx) const override { base_.run(ctx); }

 private:
  WindowOperator base_;
  CropWindow window_;
};

void register_geometry_crop(Registry& r) {
  Schema schema("crop");
  schema.doc("Cuts a window out of images, volumes or every frame of a sequence.")
      .input("data", {.layouts = {"HWC", "CHW", "DHWC", "CDHW", "FHWC", "FCHW", "CFHW", "FDHWC", "FCDHW", "CFDHW"}});
  CropWindow::declare(schema);
  WindowOperator::declare(schema);
  r.add<Crop>(std::move(schema));
}

}  // namespace headrace
