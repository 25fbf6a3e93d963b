// resize_crop_mirror: resizes, crops and mirrors in one resampling, which computes no pixel that the crop leaves out.
#include "graph/registry.h"
#include "ops/geometry/crop_window.h"
#include "ops/geometry/resize_size.h"

namespace headrace {

class ResizeCropMirror final : public SampleOperator {
 public:
  explicit ResizeCropMirror(const OpSpec& spec) : base_(spec), size_(spec), window_(spec), mirror_(spec, "mirror") {}

  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    ResamplePlan plan = size_(ctx, in);
    const Window window = window_(ctx, plan.shape(), in.layout);
    for (int i = 0; i < in.shape.ndim(); ++i) {
      if (is_spatial(in.layout[i]) && in.shape[i] > 0) plan[i] = crop_axis(plan[i], window.anchor[i], window.extent[i]);
    }
    base_.infer(ctx, plan);
  }

  std::optional<Region> input_region(const SampleContext& ctx, int i, const Region& needed) const override {
    if (i != 0) return std::nullopt;
    const int axis = ctx.input(0).layout.find('W');
    const int64_t width = ctx.plan<ResamplePlan>()[axis].out;
    Region mirrored = needed;
    mirrored.begin[axis] = width - needed.end[axis];
    mirrored.end[axis] = width - needed.begin[axis];
    // A mirror that is computed isn't known yet.
    if (!mirror_.is_tensor()) return base_.input_region(ctx, i, mirror_(ctx) ? mirrored : needed);
    std::optional<Region> region = base_.input_region(ctx, i, needed);
    if (region) region->unite(*base_.input_region(ctx, i, mirrored));
    return region;
  }
  bool writes_regions() const override { return true; }
  void run(SampleContext& ctx) const override {
    if (mirror_(ctx)) {
      ResampleAxis& width = ctx.plan<ResamplePlan>()[ctx.input(0).layout.find('W')];
      width = mirror_axis(width);
    }
    base_.run(ctx);
  }

 private:
  ResampleOperator base_;
  ResizeSize size_;
  CropWindow window_;
  Arg<int32_t> mirror_;
};

void register_geometry_resize_crop_mirror(Registry& r) {
  for (const char* name : {"resize_crop_mirror", "fast_resize_crop_mirror"}) {
    Schema schema(name);
    schema
        .doc(
            "Resizes images, volumes or every frame of a sequence as `resize` does, cuts a window out of the result "
            "as `crop` does, and mirrors it: in one resampling. A window that reaches beyond the resized image "
            "continues it: border pixels repeat.")
        .input("images", {.layouts = {"HWC", "FHWC", "CHW", "FCHW", "CFHW", "DHWC", "FDHWC", "CDHW", "FCDHW", "CFDHW"}})
        .arg("mirror", ArgType::kInt, 0, "Not 0: mirror along the width.", PerSample::kAllowed)
        .not_for_shapes();
    ResizeSize::declare(schema);
    CropWindow::declare(schema);
    const bool fast = schema.name() != "resize_crop_mirror";
    if (fast) schema.deprecated("Use `resize_crop_mirror`, which is as fast; `antialias` is off here by default.");
    ResampleOperator::declare(schema, !fast);
    r.add<ResizeCropMirror>(std::move(schema));
  }
}

}  // namespace headrace
