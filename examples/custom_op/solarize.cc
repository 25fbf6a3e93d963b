// fn.solarize: inverts the bright values of an image, as film does that was exposed to too much light.
#include <headrace/op.h>

namespace {

using namespace headrace;

void solarize(const uint8_t* in, uint8_t* out, int64_t count, int threshold) {
  for (int64_t i = 0; i < count; ++i) out[i] = in[i] < threshold ? in[i] : static_cast<uint8_t>(255 - in[i]);
}

class Solarize : public SampleOperator {
 public:
  explicit Solarize(const OpSpec& spec) : threshold_(spec, "threshold") {}

  // Says what comes out, before any pixel is computed.
  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    check(in.dtype == DType::kUInt8, "[solarize] images: expected uint8, got {}", dtype_name(in.dtype));
    ctx.output(0).describe_as(in);
  }

  // Computes one sample; the engine calls it on many threads at once.
  void run(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    solarize(in.as<const uint8_t>(), ctx.output(0).as<uint8_t>(), in.volume(), threshold_(ctx));
  }

 private:
  const Arg<int32_t> threshold_;  // a constant or a value for each sample
};

}  // namespace

HEADRACE_PLUGIN(registry) {
  registry.add<Solarize>(
      Schema("solarize")
          .doc("Inverts the values of an image that are not below a threshold.")
          .input("images", {.doc = "Images of type uint8, of any layout."})
          .arg("threshold", ArgType::kInt, 128, "The lowest value that is inverted.", PerSample::kAllowed)
          .not_for_shapes());
}
