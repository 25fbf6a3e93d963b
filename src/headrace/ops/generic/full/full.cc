// full, full_like: a value repeated over a shape, with NumPy's broadcasting.
#include <cstring>

#include "core/convert.h"
#include "graph/arg.h"
#include "graph/registry.h"

namespace headrace {
namespace {

void check_broadcast(const Shape& from, const Shape& to, std::string_view op) {
  bool fits = from.ndim() <= to.ndim();
  for (int i = 1; fits && i <= from.ndim(); ++i) {
    const int64_t extent = from[from.ndim() - i];
    fits = extent == 1 || extent == to[to.ndim() - i];
  }
  check(fits, "[{}] fill_value: shape {} cannot be broadcast to {}", op, from, to);
}

// Repeats `from`, whose elements have `size` bytes, over `to`. Each block is laid out once and then copied as a whole.
void broadcast(const uint8_t* from, const Shape& from_shape, uint8_t* to, const Shape& to_shape, size_t size) {
  // Grows the block from the innermost axis outwards: first all rows that differ, then their repetitions.
  const int ndim = to_shape.ndim();
  const auto extent = [&](int axis) {
    const int at = axis - (ndim - from_shape.ndim());
    return at < 0 ? int64_t{1} : from_shape[at];
  };
  const auto fill = [&](const auto& self, int axis, const uint8_t* src, size_t src_bytes, uint8_t* dst,
                        size_t dst_bytes) -> void {
    if (axis == ndim) {
      std::memcpy(dst, src, size);
      return;
    }
    const auto n = static_cast<size_t>(to_shape[axis]);
    const size_t step = dst_bytes / n;
    const auto parts = static_cast<size_t>(extent(axis));
    for (size_t i = 0; i < parts; ++i)
      self(self, axis + 1, src + i * (src_bytes / parts), src_bytes / parts, dst + i * step, step);
    for (size_t done = parts; done < n;) {  // parts is 1: double what is there
      const size_t more = std::min(done, n - done);
      std::memcpy(dst + done * step, dst, more * step);
      done += more;
    }
  };
  fill(fill, 0, from, static_cast<size_t>(from_shape.volume()) * size, to,
       static_cast<size_t>(to_shape.volume()) * size);
}

class Full : public SampleOperator {
 public:
  explicit Full(const OpSpec& spec) : shape_(spec, "shape"), has_layout_(spec.has("layout")) {
    if (has_layout_) layout_ = spec.get_layout("layout");
  }

  void infer(SampleContext& ctx) const override {
    const Sample& value = ctx.input(0);
    Sample& out = ctx.output(0);
    out.dtype = value.dtype;
    out.shape = shape_.given() ? Shape(shape_(ctx)) : value.shape;
    checked_volume(out.shape, dtype_size(out.dtype), "[full] shape");
    check_broadcast(value.shape, out.shape, "full");
    out.layout = has_layout_ ? layout_ : shape_.given() ? Layout() : value.layout;
    check(out.layout.empty() || out.layout.ndim() == out.shape.ndim(),
          "[full] layout: expected {} letters for shape {}, got \"{}\"", out.shape.ndim(), out.shape, out.layout);
  }

  void run(SampleContext& ctx) const override {
    const Sample& value = ctx.input(0);
    const Sample& out = ctx.output(0);
    if (out.bytes() == 0) return;
    broadcast(value.as<const uint8_t>(), value.shape, out.as<uint8_t>(), out.shape, dtype_size(out.dtype));
  }

 private:
  const ArgList<int64_t> shape_;
  const bool has_layout_;
  Layout layout_;
};

class FullLike : public SampleOperator {
 public:
  explicit FullLike(const OpSpec&) {}

  void infer(SampleContext& ctx) const override {
    ctx.output(0).describe_as(ctx.input(0));
    check_broadcast(ctx.input(1).shape, ctx.input(0).shape, "full_like");
  }

  void run(SampleContext& ctx) const override {
    const Sample& value = ctx.input(1);
    const Sample& out = ctx.output(0);
    if (out.bytes() == 0) return;
    const size_t size = dtype_size(out.dtype);
    const auto converted = ctx.arena().allocate_array<uint8_t>(static_cast<size_t>(value.volume()) * size);
    convert_array(value.data, value.dtype, converted.data(), out.dtype, value.volume());
    broadcast(converted.data(), value.shape, out.as<uint8_t>(), out.shape, size);
  }
};

}  // namespace

void register_generic_full(Registry& r) {
  r.add<Full>(
      Schema("full")
          .doc("A tensor of the given shape, filled with a value that is broadcast to it. Keeps the value's type.")
          .devices({"cpu"})
          .input("fill_value", {.doc = "A number or a tensor that broadcasts to `shape`."})
          .arg("shape", ArgType::kIntList, {}, "Shape; that of the value by default.", PerSample::kAllowed)
          .arg("layout", ArgType::kLayout, {}, "Layout of the output."));
  r.add<FullLike>(Schema("full_like")
                      .doc("A tensor with the shape, layout and type of the first input, filled with the second, which "
                           "is rounded and clamped to that type.")
                      .devices({"cpu"})
                      .input("data_like", {.shape_only = true, .doc = "Gives shape, layout and type."})
                      .input("fill_value", {.doc = "A number or a tensor that broadcasts to the shape."}));
}

}  // namespace headrace
