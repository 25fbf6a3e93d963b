// random_resized_crop: a random window of the image, resized to a given size.
#include "graph/registry.h"
#include "ops/geometry/resize_size.h"
#include "ops/random/random_crop.h"

namespace headrace {

class RandomResizedCrop final : public SampleOperator {
 public:
  explicit RandomResizedCrop(const OpSpec& spec)
      : base_(spec), crop_(spec), seed_(spec.seed), about_size_(spec.about("size")) {
    const std::vector<int64_t>& size = spec.get_ints("size");
    check(size.size() == 1 || size.size() == 2, "{}: expected one number or two (height, width), got {}", about_size_,
          size.size());
    height_ = static_cast<double>(size.front());
    width_ = static_cast<double>(size.back());
    check(height_ != 0 && width_ != 0, "{}: expected numbers other than 0", about_size_);
  }

  // All frames of a sequence share one window.
  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    const int y = in.layout.find('H'), x = in.layout.find('W');
    const CropBox box = crop_(ctx.random(seed_), in.shape[y], in.shape[x]);
    ResamplePlan plan(in.shape);
    plan[y] = resized(in.shape[y], box.y, box.height, height_);
    plan[x] = resized(in.shape[x], box.x, box.width, width_);
    base_.infer(ctx, plan);
  }

  std::optional<Region> input_region(const SampleContext& ctx, int i, const Region& needed) const override {
    return base_.input_region(ctx, i, needed);
  }
  bool writes_regions() const override { return true; }
  void run(SampleContext& ctx) const override { base_.run(ctx); }

 private:
  static ResampleAxis resized(int64_t extent, int64_t start, int64_t length, double size) {
    const ResizeRequest request{.extent = extent,
                                .roi_start = static_cast<double>(start),
                                .roi_end = static_cast<double>(start + length),
                                .size = size};
    return place_axis(request, SizeRounding::kRound, true);
  }

  ResampleOperator base_;
  RandomCrop crop_;
  uint64_t seed_;
  std::string about_size_;
  double height_ = 0, width_ = 0;
};

void register_geometry_random_resized_crop(Registry& r) {
  Schema schema("random_resized_crop");
  schema
      .doc(
          "Resizes a random window of the image, the one that `random_crop_generator` gives for the same seed. Pixels "
          "beyond the window's edge, but inside the image, take part in the filter there.")
      .input("images", {.layouts = {"HWC", "CHW", "FHWC", "FCHW", "CFHW"}})
      .required_arg("size", ArgType::kIntList, "Height and width of the output, or one number for both.");
  RandomCrop::add_args(schema);
  ResampleOperator::declare(schema);
  r.add<RandomResizedCrop>(std::move(schema));
}

}  // namespace headrace
