// flip: mirrors images and volumes.
#include <cstring>

#include "graph/arg.h"
#include "graph/registry.h"
#include "kernels/cpu/reverse_pixels.h"

namespace headrace {
namespace {

struct Flips {
  bool width = false;
  bool height = false;
  bool depth = false;

  bool along(char axis) const { return axis == 'W' ? width : axis == 'H' ? height : axis == 'D' && depth; }
};

// The part of a flipped tensor's input that the box `part` of its output shows.
Region flipped(const Region& part, const Sample& in, const Flips& flips) {
  Region region = part;
  for (int i = 0; i < in.shape.ndim(); ++i) {
    if (!flips.along(in.layout[i])) continue;
    region.begin[i] = in.shape[i] - part.end[i];
    region.end[i] = in.shape[i] - part.begin[i];
  }
  return region;
}

// Copies the box `box` of a tensor with its axes before `row_axis` turned as `flips` says; `copy_row(in, out)` moves
// what lies behind, whole rows of `row_bytes` bytes, of `pixel_bytes` for each entry of `row_axis`.
template <typename CopyRow>
void flip_outer(const Sample& in, const Region& box, int row_axis, const Flips& flips, size_t pixel_bytes,
                size_t row_bytes, uint8_t* out, CopyRow copy_row) {
  const Shape stored = in.stored_shape(), extent = box.extent();
  int64_t at[Shape::kMaxDims] = {};
  int64_t step[Shape::kMaxDims] = {};  // bytes from one entry of an axis to the next
  const int64_t pixel = static_cast<int64_t>(pixel_bytes);
  int64_t stride = pixel * stored[row_axis], rows = 1;
  const uint8_t* first = in.origin() + box.begin[row_axis] * pixel;
  for (int i = row_axis - 1; i >= 0; --i) {
    const bool turned = flips.along(in.layout[i]);
    first += stride * (turned ? box.end[i] - 1 : box.begin[i]);
    step[i] = turned ? -stride : stride;
    stride *= stored[i];
    rows *= extent[i];
  }
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t* from = first;
    for (int i = 0; i < row_axis; ++i) from += step[i] * at[i];
    copy_row(from, out + static_cast<size_t>(r) * row_bytes);
    for (int i = row_axis - 1; i >= 0 && ++at[i] == extent[i]; --i) at[i] = 0;
  }
}

}  // namespace

class Flip final : public SampleOperator {
 public:
  explicit Flip(const OpSpec& spec)
      : horizontal_(spec, "horizontal"), vertical_(spec, "vertical"), depthwise_(spec, "depthwise") {}

  void infer(SampleContext& ctx) const override { ctx.output(0).describe_as(ctx.input(0)); }

  std::optional<Region> input_region(const SampleContext& ctx, int i, const Region& needed) const override {
    const Sample& in = ctx.input(0);
    if (i != 0 || in.volume() == 0) return std::nullopt;
    // A flip that is computed isn't known yet: both ways.
    const auto known = [&](const Arg<int32_t>& flip) { return !flip.is_tensor() && flip(ctx) != 0; };
    Region region = flipped(needed, in, {known(horizontal_), known(vertical_), known(depthwise_)});
    region.unite(flipped(region, in, {horizontal_.is_tensor(), vertical_.is_tensor(), depthwise_.is_tensor()}));
    return region;
  }
  bool writes_regions() const override { return true; }

  void run(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    if (in.volume() == 0) return;
    const Flips flips{horizontal_(ctx) != 0, vertical_(ctx) != 0, depthwise_(ctx) != 0};
    const Sample& result = ctx.output(0);
    const Region box = flipped(result.region ? *result.region : Region::whole(result.shape), in, flips);
    const int row_axis = in.layout.find('W');
    size_t pixel_bytes = dtype_size(in.dtype);
    for (int i = row_axis + 1; i < in.shape.ndim(); ++i) pixel_bytes *= static_cast<size_t>(in.shape[i]);
    const int64_t pixels = box.extent()[row_axis];
    const size_t row_bytes = pixel_bytes * static_cast<size_t>(pixels);
    uint8_t* out = result.as<uint8_t>();
    const bool part = in.region || result.region;
    if (flips.width) {
      flip_outer(in, box, row_axis, flips, pixel_bytes, row_bytes, out,
                 [&](const uint8_t* from, uint8_t* to) { reverse_pixels(from, to, pixels, pixel_bytes); });
    } else if (flips.height || flips.depth || part) {
      flip_outer(in, box, row_axis, flips, pixel_bytes, row_bytes, out,
                 [&](const uint8_t* from, uint8_t* to) { std::memcpy(to, from, row_bytes); });
    } else {
      std::memcpy(out, in.data, in.bytes());
    }
  }

 private:
  Arg<int32_t> horizontal_, vertical_, depthwise_;
};

void register_geometry_flip(Registry& r) {
  r.add<Flip>(
      Schema("flip")
          .doc("Mirrors images and volumes. The output has the input's shape, type and layout.")
          .input("data", {.layouts = {"FDHWC", "FHWC", "DHWC", "HWC", "FCDHW", "FCHW", "CDHW", "CHW"}})
          .arg("horizontal", ArgType::kInt, 1, "Not 0: mirror along the width.", PerSample::kAllowed)
          .not_for_shapes()
          .arg("vertical", ArgType::kInt, 0, "Not 0: mirror along the height.", PerSample::kAllowed)
          .not_for_shapes()
          .arg("depthwise", ArgType::kInt, 0, "Not 0: mirror along the depth, if there is one.", PerSample::kAllowed)
          .not_for_shapes());
}

}  // namespace headrace
