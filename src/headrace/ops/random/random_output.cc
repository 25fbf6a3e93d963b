// Shape and type of random tensors.
#include "ops/random/random_output.h"

namespace headrace {

Schema& random_output_args(Schema& schema, const char* default_dtype) {
  schema.input("shape_like", {.shape_only = true, .optional = true, .doc = "The output gets the shape of this tensor."})
      .arg("shape", ArgType::kIntList, {}, "Shape of the output. Without it and without an input: a scalar.",
           PerSample::kAllowed);
  if (*default_dtype) schema.arg("dtype", ArgType::kDType, {}, default_dtype);
  return schema;
}

RandomOutput::RandomOutput(const OpSpec& spec, int shape_like, DType default_dtype)
    : about_(spec.about("shape")),
      shape_(spec, "shape"),
      shape_like_(spec.num_inputs > shape_like ? shape_like : -1),
      dtype_(spec.schema->find_arg("dtype") && spec.has("dtype") ? spec.get_dtype("dtype") : default_dtype) {
  check(!(shape_.given() && shape_like_ >= 0),
        "{}: expected either `shape` or an input to take the shape from, got both", about_);
}

Shape RandomOutput::shape(const SampleContext& ctx) const {
  if (shape_like_ >= 0) return ctx.input(shape_like_).shape;
  Shape shape;
  for (const int64_t extent : shape_(ctx)) {
    check(extent >= 0, "{}: expected extents of at least 0, got {}", about_, extent);
    shape.push_back(extent);
  }
  return shape;
}

void RandomOutput::describe(SampleContext& ctx) const {
  ctx.output(0).dtype = dtype_;
  ctx.output(0).shape = shape(ctx);
}

}  // namespace headrace
