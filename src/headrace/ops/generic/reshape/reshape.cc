// reshape, reinterpret: the same bytes under another shape, layout or element type.
#include <cmath>

#include "graph/arg.h"
#include "graph/registry.h"

namespace headrace {
namespace {

constexpr int64_t kWildcard = -1;

class Reshape : public SampleOperator {
 public:
  explicit Reshape(const OpSpec& spec)
      : name_(spec.schema->name()),
        shape_(spec, "shape"),
        rel_shape_(spec, "rel_shape"),
        src_dims_(spec, "src_dims"),
        shape_input_(spec.num_inputs > 1),
        has_layout_(spec.has("layout")) {
    if (has_layout_) layout_ = spec.get_layout("layout");
    if (spec.schema->find_arg("dtype") && spec.has("dtype")) dtype_ = spec.get_dtype("dtype");
    const int sources = shape_input_ + shape_.given() + rel_shape_.given();
    check(sources <= 1, "[{}]: expected one of shape, rel_shape and a second input, got {} of them", name_, sources);
    check(sources == 1 || src_dims_.given() || has_layout_ || dtype_ != DType::kNone,
          "[{}]: nothing to do; give a shape, rel_shape, src_dims, layout or type", name_);
  }

  void infer(SampleContext& ctx) const override {
    const Sample& in = ctx.input(0);
    Sample& out = ctx.output(0);
    out.describe_as(in);
    if (dtype_ != DType::kNone) out.dtype = dtype_;
    out.shape = requested_shape(ctx);
    fill_wildcard(in, out);
    check(out.bytes() == in.bytes(), "[{}] shape: {} of {} takes {} bytes, the sample of shape {} has {}", name_,
          out.shape, dtype_name(out.dtype), out.bytes(), in.shape, in.bytes());
    if (has_layout_) {
      check(layout_.empty() || layout_.ndim() == out.shape.ndim(),
            "[{}] layout: expected {} letters for shape {}, got \"{}\"", name_, out.shape.ndim(), out.shape, layout_);
      out.layout = layout_;
    } else if (out.shape.ndim() != in.shape.ndim()) {
      out.layout = {};
    }
  }

  void run(SampleContext&) const override {}

 private:
  Shape requested_shape(SampleContext& ctx) const {
    if (shape_input_) return shape_from_input(ctx);
    if (shape_.given()) return Shape(shape_(ctx));
    if (rel_shape_.given()) return relative_shape(ctx);
    const Sample& in = ctx.input(0);
    Shape shape = src_dims_.given() ? source_extents(ctx) : in.shape;
    if (dtype_ == DType::kNone || dtype_size(dtype_) == dtype_size(in.dtype)) return shape;
    check(shape.ndim() > 0, "[{}] dtype: a scalar of {} cannot be taken as {}, whose size differs", name_,
          dtype_name(in.dtype), dtype_name(dtype_));
    int64_t& last = shape[shape.ndim() - 1];
    const auto row_bytes = last * static_cast<int64_t>(dtype_size(in.dtype));
    check(row_bytes % static_cast<int64_t>(dtype_size(dtype_)) == 0,
          "[{}] dtype: rows of {} bytes (shape {} of {}) don't divide into {}", name_, row_bytes, in.shape,
          dtype_name(in.dtype), dtype_name(dtype_));
    last = row_bytes / static_cast<int64_t>(dtype_size(dtype_));
    return shape;
  }

  Shape shape_from_input(const SampleContext& ctx) const {
    const Sample& in = ctx.input(1);
    check(is_integer(in.dtype), "[{}] shape_input: expected integers, got {}", name_, dtype_name(in.dtype));
    Shape shape;
    visit_dtype(in.dtype, IntegerTypes(), name_, [&]<typename T>() {
      for (int64_t i = 0; i < in.volume(); ++i) shape.push_back(static_cast<int64_t>(in.as<T>()[i]));
    });
    return shape;
  }

  // The input's extents in the order of src_dims; -1 stands for a new extent of 1.
  Shape source_extents(const SampleContext& ctx) const {
    const Shape& in = ctx.input(0).shape;
    Shape shape;
    for (const int64_t axis : src_dims_(ctx)) {
      check(axis >= -1 && axis < in.ndim(), "[{}] src_dims: expected -1 .. {}, got {}", name_, in.ndim() - 1, axis);
      shape.push_back(axis < 0 ? 1 : in[static_cast<int>(axis)]);
    }
    return shape;
  }

  Shape relative_shape(const SampleContext& ctx) const {
    const std::span<const float> factors = rel_shape_(ctx);
    const int count = static_cast<int>(factors.size());
    const Shape base = src_dims_.given() ? source_extents(ctx) : ctx.input(0).shape;
    check(!src_dims_.given() || base.ndim() == count, "[{}] rel_shape: expected {} values, one per src_dims, got {}",
          name_, base.ndim(), count);
    check(count <= base.ndim(), "[{}] rel_shape: {} values for {} axes; insert new axes with src_dims", name_, count,
          base.ndim());
    Shape shape;
    for (int i = 0; i < count; ++i) {
      const float factor = factors[static_cast<size_t>(i)];
      const double extent = static_cast<double>(factor) * static_cast<double>(base[i]);
      check(extent < 0x1p62, "[{}] rel_shape: expected finite numbers, got {} for axis {}", name_, factor, i);
      shape.push_back(factor < 0 ? kWildcard : std::llround(extent));
    }
    return shape;
  }

  // Puts the extent that makes the bytes equal in the place of a negative one.
  void fill_wildcard(const Sample& in, Sample& out) const {
    int wildcard = -1;
    auto others = static_cast<int64_t>(dtype_size(out.dtype));
    bool too_large = false;
    for (int i = 0; i < out.shape.ndim(); ++i) {
      if (out.shape[i] >= 0) {
        too_large |= __builtin_mul_overflow(others, out.shape[i], &others);
        continue;
      }
      check(wildcard < 0, "[{}] shape: expected at most one negative extent, got {}", name_, out.shape);
      wildcard = i;
    }
    check(!too_large, "[{}] shape: {} is too large", name_, out.shape);
    if (wildcard < 0) return;
    const auto bytes = static_cast<int64_t>(in.bytes());
    check(others > 0 && bytes % others == 0,
          "[{}] shape: {} of {} leaves no extent for -1 that fits a sample of shape {}", name_, out.shape,
          dtype_name(out.dtype), in.shape);
    out.shape[wildcard] = bytes / others;
  }

  const std::string name_;
  const ArgList<int64_t> shape_;
  const ArgList<float> rel_shape_;
  const ArgList<int64_t> src_dims_;
  const bool shape_input_;
  const bool has_layout_;
  Layout layout_;
  DType dtype_ = DType::kNone;
};

Schema reshape_schema(std::string name) {
  return Schema(std::move(name))
      .view()
      .input("data", {.doc = "Any tensor."})
      .input("shape_input", {.infer_reads_data = true, .optional = true, .doc = "The shape: a 1-D tensor of integers."})
      .arg("shape", ArgType::kIntList, {}, "New shape. One extent may be -1: what the others leave.",
           PerSample::kAllowed)
      .arg("rel_shape", ArgType::kFloatList, {},
           "New extents as multiples of the input's (of those of `src_dims` where given), rounded. One may be -1.",
           PerSample::kAllowed)
      .arg("src_dims", ArgType::kIntList, {},
           "The input's axes that the new extents come from; -1 inserts an extent of 1. The data stays in place.",
           PerSample::kAllowed)
      .arg("layout", ArgType::kLayout, {},
           "Layout of the output; \"\" for none. By default the input's, or none when the number of axes changes.");
}

}  // namespace

void register_generic_reshape(Registry& r) {
  r.add<Reshape>(reshape_schema("reshape").doc("Gives the same elements another shape or layout, without copying."));
  r.add<Reshape>(reshape_schema("reinterpret")
                     .doc("Takes the same bytes as elements of another type, shape or layout, without copying. Without "
                          "a shape the last extent is scaled to the new size of an element.")
                     .arg("dtype", ArgType::kDType, {}, "Type that the bytes are taken as; the input's by default."));
}

}  // namespace headrace
