// decoders.image_slice: decodes a window of an image, given as slice takes it.
#include "graph/registry.h"
#include "ops/decoders/image_decoding.h"
#include "ops/geometry/slice_window.h"

namespace headrace {

class ImageSliceDecoder final : public SampleOperator {
 public:
  explicit ImageSliceDecoder(const OpSpec& spec) : decoding_(spec), window_(spec), name_(spec.schema->name()) {}

  void infer(SampleContext& ctx) const override {
    auto& plan = ctx.make_plan<ImageDecoding::Plan>();
    decoding_.infer(ctx, plan);
    const Sample& out = ctx.output(0);
    Window window = window_(ctx, out.shape, out.layout);
    check(window.anchor[2] == 0 && window.extent[2] == out.shape[2], "[{}] axes: expected height and width only",
          name_);
    apply_bounds_policy(BoundsPolicy::kError, out.shape, out.layout, window, name_);
    ImageDecoding::restrict(ctx, plan,
                            {static_cast<int>(window.anchor[1]), static_cast<int>(window.anchor[0]),
                             static_cast<int>(window.extent[1]), static_cast<int>(window.extent[0])});
  }
  bool writes_regions() const override { return true; }
  void run(SampleContext& ctx) const override { decoding_.run(ctx); }
  std::unique_ptr<WorkerState> make_worker_state() const override { return decoding_.make_worker_state(); }
  std::vector<std::pair<std::string_view, int64_t>> counters() const override { return decoding_.counters(); }

 private:
  ImageDecoding decoding_;
  SliceWindow window_;
  std::string name_;
};

void register_decoders_image_slice(Registry& r) {
  for (const char* name : {"decoders.image_slice", "image_decoder_slice", "experimental.decoders.image_slice"}) {
    Schema schema(name);
    schema
        .doc(
            "Decodes a window of images: equal to `decoders.image` and `slice`, but only the rows and columns needed "
            "are "
            "decoded where the format allows. A window that reaches beyond the image is an error.")
        .input("data", {.infer_reads_data = true, .doc = "The file's bytes, uint8 (n,)."});
    SliceWindow::declare(schema);
    ImageDecoding::declare(schema);
    if (schema.name() != "decoders.image_slice") schema.deprecated("Use `decoders.image_slice`.");
    r.add<ImageSliceDecoder>(std::move(schema));
  }
}

}  // namespace headrace
