// peek_image_shape: the shape of an encoded image, from its header.
#include "graph/registry.h"
#include "ops/decoders/image_decoding.h"

namespace headrace {
namespace {

using ShapeTypes = TypeList<int32_t, uint32_t, int64_t, uint64_t, float, double>;

}  // namespace

class PeekImageShape final : public SampleOperator {
 public:
  explicit PeekImageShape(const OpSpec& spec) : name_(spec.schema->name()), dtype_(spec.get_dtype("dtype")) {
    visit_dtype(dtype_, ShapeTypes(), spec.about("dtype"), []<typename>() {});
    const int64_t color = spec.get_int("image_type");
    check(color >= 0 && color <= static_cast<int64_t>(ImageColor::kAny),
          "{}: expected RGB, BGR, GRAY, YCbCr or ANY_DATA, got {}", spec.about("image_type"), color);
    options_.color = static_cast<ImageColor>(color);
    options_.adjust_orientation = spec.get_bool("adjust_orientation");
  }

  void infer(SampleContext& ctx) const override {
    ctx.output(0).dtype = dtype_;
    ctx.output(0).shape = {3};
    ctx.output(0).source = ctx.input(0).source;
  }

  void run(SampleContext& ctx) const override {
    const ImageHeader header = read_image_header(encoded_bytes(ctx.input(0), name_));
    const Shape shape = decoded_image_shape(header, options_);
    visit_dtype(dtype_, ShapeTypes(), name_, [&]<typename T>() {
      for (int i = 0; i < 3; ++i) ctx.output(0).as<T>()[i] = static_cast<T>(shape[i]);
    });
  }

 private:
  std::string name_;
  DType dtype_;
  ImageDecodeOptions options_;
};

void register_decoders_peek_image_shape(Registry& r) {
  for (const char* name : {"peek_image_shape", "experimental.peek_image_shape"}) {
    Schema schema(name);
    schema.doc("The shape (H, W, C) that `decoders.image` would give, read from the file's header. Output: (3,).")
        .input("data", {.doc = "The file's bytes, uint8 (n,)."})
        .devices({"cpu"})
        .arg("dtype", ArgType::kDType, static_cast<int64_t>(DType::kInt64),
             "Type of the output: INT32, UINT32, INT64, UINT64, FLOAT or FLOAT64.")
        .arg("adjust_orientation", ArgType::kBool, true, "Height and width after the EXIF orientation.")
        .arg("image_type", ArgType::kImageType, static_cast<int64_t>(ImageType::kRGB),
             "What the image would be decoded to, which tells the channels; ANY_DATA: those of the file.");
    if (schema.name() != "peek_image_shape") schema.deprecated("Use `peek_image_shape`.");
    r.add<PeekImageShape>(std::move(schema));
  }
}

}  // namespace headrace
