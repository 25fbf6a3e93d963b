// decoders.image_random_crop: decodes a random window of an image.
#include "graph/registry.h"
#include "ops/decoders/image_decoding.h"
#include "ops/random/random_crop.h"

namespace headrace {

class ImageRandomCropDecoder final : public SampleOperator {
 public:
  explicit ImageRandomCropDecoder(const OpSpec& spec) : decoding_(spec), crop_(spec), seed_(spec.seed) {}

  void infer(SampleContext& ctx) const override {
    auto& plan = ctx.make_plan<ImageDecoding::Plan>();
    decoding_.infer(ctx, plan);
    const Shape& shape = ctx.output(0).shape;
    const CropBox box = crop_(ctx.random(seed_), shape[0], shape[1]);
    ImageDecoding::restrict(
        ctx, plan,
        {static_cast<int>(box.x), static_cast<int>(box.y), static_cast<int>(box.width), static_cast<int>(box.height)});
  }
  bool writes_regions() const override { return true; }
  void run(SampleContext& ctx) const override { decoding_.run(ctx); }
  std::unique_ptr<WorkerState> make_worker_state() const override { return decoding_.make_worker_state(); }
  std::vector<std::pair<std::string_view, int64_t>> counters() const override { return decoding_.counters(); }

 private:
  ImageDecoding decoding_;
  RandomCrop crop_;
  uint64_t seed_;
};

void register_decoders_image_random_crop(Registry& r) {
  for (const char* name :
       {"decoders.image_random_crop", "image_decoder_random_crop", "experimental.decoders.image_random_crop"}) {
    Schema schema(name);
    schema
        .doc(
            "Decodes a random window of images: that of `random_crop_generator` with the same seed. Only the rows and "
            "columns needed are decoded where the format allows.")
        .input("data", {.infer_reads_data = true, .doc = "The file's bytes, uint8 (n,)."});
    RandomCrop::add_args(schema);
    ImageDecoding::declare(schema);
    if (schema.name() != "decoders.image_random_crop") schema.deprecated("Use `decoders.image_random_crop`.");
    r.add<ImageRandomCropDecoder>(std::move(schema));
  }
}

}  // namespace headrace
