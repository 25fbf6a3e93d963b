// random_crop_generator: anchor and shape of a random window of an image whose shape is given.
#include "graph/registry.h"
#include "ops/random/random_crop.h"

namespace headrace {
namespace {

class RandomCropGenerator : public SampleOperator {
 public:
  explicit RandomCropGenerator(const OpSpec& spec)
      : seed_(spec.seed), crop_(spec), about_(fmt::format("[{}] shape", spec.schema->name())) {}

  void infer(SampleContext& ctx) const override {
    const Sample& shape = ctx.input(0);
    check(is_integer(shape.dtype), "{}: expected integers, got {}", about_, dtype_name(shape.dtype));
    check(shape.shape.ndim() == 1 && (shape.shape[0] == 2 || shape.shape[0] == 3),
          "{}: expected a list of 2 or 3 extents (HW or HWC), got a tensor of shape {}", about_, shape.shape);
    for (int i = 0; i < 2; ++i) {
      ctx.output(i).dtype = DType::kInt32;
      ctx.output(i).shape = {2};
    }
  }

  void run(SampleContext& ctx) const override {
    int64_t height = 0, width = 0;
    visit_dtype(ctx.input(0).dtype, IntegerTypes(), about_, [&]<typename T>() {
      const T* extents = ctx.input(0).as<T>();
      height = static_cast<int64_t>(extents[0]);
      width = static_cast<int64_t>(extents[1]);
    });
    check(height >= 0 && width >= 0, "{}: expected extents of at least 0, got ({}, {})", about_, height, width);
    const CropBox box = crop_(ctx.random(seed_), height, width);
    const auto write = [&](int output, int64_t y, int64_t x) {
      ctx.output(output).as<int32_t>()[0] = static_cast<int32_t>(y);
      ctx.output(output).as<int32_t>()[1] = static_cast<int32_t>(x);
    };
    write(0, box.y, box.x);
    write(1, box.height, box.width);
  }

 private:
  const uint64_t seed_;
  const RandomCrop crop_;
  const std::string about_;
};

}  // namespace

void register_random_random_crop_generator(Registry& r) {
  Schema s("random_crop_generator");
  s.doc(
       "A random window of an image: its anchor (y, x) and its shape (height, width), both int32, for crops and "
       "resizing. Equal seeds give the windows of random_resized_crop and decoders.image_random_crop.")
      .input("shape", {.doc = "Shape of the image: 2 or 3 integers, height and width first."});
  r.add<RandomCropGenerator>(RandomCrop::add_args(s).outputs(2).devices({"cpu"}));
}

}  // namespace headrace
