// slice: cuts a window given by its start and end or extent along any axes.
#include "graph/registry.h"
#include "ops/geometry/slice_window.h"
#include "ops/geometry/window_operator.h"

namespace headrace {

class Slice final : public SampleOperator {
 public:
  explicit Slice(const OpSpec& spec) : base_(spec), window_(spec) {}

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
  SliceWindow window_;
};

void register_geometry_slice(Registry& r) {
  Schema schema("slice");
  schema
      .doc(
          "Cuts a window out of tensors: by the arguments start, end, shape (absolute) and rel_start, rel_end, "
          "rel_shape "
          "(fractions), or by the inputs `anchor` and `extent` (integers: absolute; floats: fractions).")
      .input("data");
  SliceWindow::declare(schema);
  WindowOperator::declare(schema);
  r.add<Slice>(std::move(schema));
}

}  // namespace headrace
