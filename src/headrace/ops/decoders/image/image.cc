// decoders.image: encoded images to pixels.
#include "graph/registry.h"
#include "ops/decoders/image_decoding.h"

namespace headrace {

class ImageDecoderOp final : public SampleOperator {
 public:
  explicit ImageDecoderOp(const OpSpec& spec) : decoding_(spec) {}

  void infer(SampleContext& ctx) const override { decoding_.infer(ctx, ctx.make_plan<ImageDecoding::Plan>()); }
  bool writes_regions() const override { return true; }
  void run(SampleContext& ctx) const override { decoding_.run(ctx); }
  std::unique_ptr<WorkerState> make_worker_state() const override { return decoding_.make_worker_state(); }

 private:
  ImageDecoding decoding_;
};

void register_decoders_image(Registry& r) {
  for (const char* name : {"decoders.image", "image_decoder", "experimental.decoders.image"}) {
    Schema schema(name);
    schema
        .doc(
            "Decodes JPEG, PNG, BMP, TIFF, PNM, WebP and JPEG 2000 files (by their content) to images (H, W, C), "
            "layout "
            "HWC. JPEG pixels are those of libjpeg-turbo. A damaged or cut file is an error, never a partial image.")
        .input("data", {.infer_reads_data = true, .doc = "The file's bytes, uint8 (n,)."});
    ImageDecoding::declare(schema);
    const char* no_cache = "Images are decoded each time.";
    schema.ignored_arg("cache_size", ArgType::kInt, no_cache)
        .ignored_arg("cache_threshold", ArgType::kInt, no_cache)
        .ignored_arg("cache_type", ArgType::kString, no_cache)
        .ignored_arg("cache_debug", ArgType::kBool, no_cache)
        .ignored_arg("cache_batch_copy", ArgType::kBool, no_cache);
    if (schema.name() != "decoders.image") schema.deprecated("Use `decoders.image`.");
    r.add<ImageDecoderOp>(std::move(schema));
  }
}

}  // namespace headrace
