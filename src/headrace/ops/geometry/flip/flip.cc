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

// Copies a tensor with its axes before `row_axis` turned as `flips` says; `copy_row(in, out)` moves what lies behind.
template <typename CopyRow>
void flip_outer(const Sample& in, int row_axis, const Flips& flips, size_t row_bytes, uint8_t* out, CopyRow copy_row) {
  int64_t at[Shape::kMaxDims] = {};
  int64_t step[Shape::kMaxDims] = {};  // rows from one entry of an axis to the next
  int64_t rows = 1;
  for (int i = row_axis - 1; i >= 0; --i) {
    step[i] = rows;
    rows *= in.shape[i];
  }
  for (int64_t r = 0; r < rows; ++r) {
    int64_t from = 0;
    for (int i = 0; i < row_axis; ++i) {
      from += step[i] * (flips.along(in.layout[i]) ? in.shape[i] - 1 - at[i] : at[i]);
    }
    copy_row(in.as<const uint8_t>() + static_cast<size_t>(from) * row_bytes, out + static_cast<size_t>(r) * row_bytes);
    for (int i = row_axis - 1; i >= 0 && ++at[i] == in.shape[i]; --i) at[i] = 0;
  }
}

}  // namespace

class Flip final : public SampleOperator {
 public:
  explicit Flip(const OpSpec& spec)
      : horizontal_(spec, "horizontal"), vertical_(spec, "vertical"), depthwise_(spec, "depthwise") {}

  void infer(SampleContext& ctx) const override { ctx.output(0).describe_as(ctx.input(0)); }

  void run(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    if (in.volume() == 0) return;
    const Flips flips{horizontal_(ctx) != 0, vertical_(ctx) != 0, depthwise_(ctx) != 0};
    const int row_axis = in.layout.find('W');
    size_t pixel_bytes = dtype_size(in.dtype);
    for (int i = row_axis + 1; i < in.shape.ndim(); ++i) pixel_bytes *= static_cast<size_t>(in.shape[i]);
    const int64_t pixels = in.shape[row_axis];
    const size_t row_bytes = pixel_bytes * static_cast<size_t>(pixels);
    uint8_t* out = ctx.output(0).as<uint8_t>();
    if (flips.width) {
      flip_outer(in, row_axis, flips, row_bytes, out,
                 [&](const uint8_t* from, uint8_t* to) { reverse_pixels(from, to, pixels, pixel_bytes); });
    } else if (flips.height || flips.depth) {
      flip_outer(in, row_axis, flips, row_bytes, out,
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
