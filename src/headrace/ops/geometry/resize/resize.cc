// resize: resamples images, volumes and sequences to another size.
#include "graph/registry.h"
#include "ops/geometry/resize_size.h"

namespace headrace {

class Resize final : public SampleOperator {
 public:
  explicit Resize(const OpSpec& spec) : base_(spec), size_(spec), save_attrs_(spec.get_bool("save_attrs")) {}

  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    base_.infer(ctx, size_(ctx, in));
    if (!save_attrs_) return;
    int64_t spatial = 0;
    for (const char axis : in.layout.str()) spatial += is_spatial(axis);
    Sample& extents = ctx.output(1);
    extents.dtype = DType::kInt32;
    extents.shape = {spatial};
    extents.source = in.source;
  }

  std::optional<Region> input_region(const SampleContext& ctx, int i, const Region& needed) const override {
    return base_.input_region(ctx, i, needed);
  }
  bool writes_regions() const override { return true; }
  void run(SampleContext& ctx) const override {
    base_.run(ctx);
    if (!save_attrs_) return;
    const Sample& in = ctx.input(0);
    int32_t* extents = ctx.output(1).as<int32_t>();
    for (int i = 0; i < in.shape.ndim(); ++i) {
      if (is_spatial(in.layout[i])) *extents++ = static_cast<int32_t>(in.shape[i]);
    }
  }

 private:
  ResampleOperator base_;
  ResizeSize size_;
  bool save_attrs_;
};

void register_geometry_resize(Registry& r) {
  for (const char* name : {"resize", "experimental.resize"}) {
    Schema schema(name);
    schema
        .doc(
            "Resamples images, volumes, or every frame of a sequence, to another size. The size is given by `size`, "
            "by some of `resize_x`, `resize_y` and `resize_z`, by `resize_shorter` or by `resize_longer`; it is "
            "rounded to integers, halves away from zero, and at least 1.")
        .input("images", {.layouts = {"HWC", "FHWC", "CHW", "FCHW", "CFHW", "DHWC", "FDHWC", "CDHW", "FCDHW", "CFDHW"}})
        .outputs_from_arg(1, "save_attrs")
        .arg("save_attrs", ArgType::kBool, false,
             "A second output, int32: the extents (height, width) or (depth, height, width) of the input.")
        .ignored_arg("image_type", ArgType::kImageType, "The channels of the input say it.");
    if (schema.name() != "resize") schema.devices({"gpu"});
    ResizeSize::declare(schema);
    ResampleOperator::declare(schema);
    r.add<Resize>(std::move(schema));
  }
}

}  // namespace headrace
