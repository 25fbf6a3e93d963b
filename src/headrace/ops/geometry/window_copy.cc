// Cutting windows: strided copies inside the tensor, tables of indices where it is left.
#include "ops/geometry/window_copy.h"

#include <cstring>

#include "core/convert.h"
#include "kernels/cpu/strided_copy.h"

namespace headrace {
namespace {

int64_t modulo(int64_t a, int64_t n) {
  const int64_t m = a % n;
  return m < 0 ? m + n : m;
}

// The index inside [0, n) that stands for index p; -1 for the fill value.
int64_t border_index(int64_t p, int64_t n, BoundsPolicy policy) {
  if (p >= 0 && p < n) return p;
  switch (policy) {
    case BoundsPolicy::kClamp: return p < 0 ? 0 : n - 1;
    case BoundsPolicy::kReflect1001: {
      const int64_t m = modulo(p, 2 * n);
      return m < n ? m : 2 * n - 1 - m;
    }
    case BoundsPolicy::kReflect101: {
      if (n == 1) return 0;
      const int64_t m = modulo(p, 2 * n - 2);
      return m < n ? m : 2 * n - 2 - m;
    }
    case BoundsPolicy::kWrap: return modulo(p, n);
    default: return -1;
  }
}

// A window that leaves its tensor. Axes behind the last one that is cut form blocks that move as a whole.
class BorderCopy {
 public:
  BorderCopy(const Sample& in, const Window& window, BoundsPolicy policy, Arena& arena) {
    last_ = in.shape.ndim() - 1;
    block_ = static_cast<int64_t>(dtype_size(in.dtype));
    while (last_ > 0 && window.anchor[last_] == 0 && window.extent[last_] == in.shape[last_]) {
      block_ *= in.shape[last_--];
    }
    int64_t in_step = block_, out_step = block_;
    const Shape stored = in.stored_shape();
    for (int i = last_; i >= 0; --i) {
      check(in.shape[i] > 0 || policy == BoundsPolicy::kPad, "cannot extend axis {} of an empty input of shape {}", i,
            in.shape);
      Axis& axis = axes_[i];
      axis.map = arena.allocate_array<int64_t>(static_cast<size_t>(window.extent[i]));
      for (int64_t k = 0; k < window.extent[i]; ++k) {
        axis.map[static_cast<size_t>(k)] = border_index(window.anchor[i] + k, in.shape[i], policy);
      }
      axis.inside_begin = std::clamp<int64_t>(-window.anchor[i], 0, window.extent[i]);
      axis.inside_end = std::clamp<int64_t>(in.shape[i] - window.anchor[i], axis.inside_begin, window.extent[i]);
      axis.in_step = in_step;
      axis.out_step = out_step;
      in_step *= stored[i];
      out_step *= window.extent[i];
    }
  }

  // Blocks outside are left as they are where the map says so.
  void copy(const uint8_t* in, uint8_t* out, int i = 0) const {
    const Axis& axis = axes_[i];
    if (i == last_) return copy_row(axis, in, out);
    for (size_t k = 0; k < axis.map.size(); ++k, out += axis.out_step) {
      if (axis.map[k] >= 0) copy(in + axis.map[k] * axis.in_step, out, i + 1);
    }
  }

 private:
  struct Axis {
    std::span<int64_t> map;
    int64_t inside_begin = 0;  // of the window
    int64_t inside_end = 0;
    int64_t in_step = 0;  // bytes
    int64_t out_step = 0;
  };

  void copy_row(const Axis& axis, const uint8_t* in, uint8_t* out) const {
    const auto copy_block = [&](int64_t k) {
      const int64_t from = axis.map[static_cast<size_t>(k)];
      if (from >= 0) std::memcpy(out + k * block_, in + from * block_, static_cast<size_t>(block_));
    };
    const int64_t begin = axis.inside_begin, end = axis.inside_end, size = static_cast<int64_t>(axis.map.size());
    for (int64_t k = 0; k < begin; ++k) copy_block(k);
    if (begin < end) {
      const int64_t from = axis.map[static_cast<size_t>(begin)];
      std::memcpy(out + begin * block_, in + from * block_, static_cast<size_t>((end - begin) * block_));
    }
    for (int64_t k = end; k < size; ++k) copy_block(k);
  }

  Axis axes_[Shape::kMaxDims];
  int last_ = 0;
  int64_t block_ = 0;
};

void fill_all(const Sample& out, std::span<const float> fill) {
  visit_dtype(out.dtype, AllTypes(), "fill_values", [&]<typename T>() {
    if (fill.size() <= 1) {
      std::fill_n(out.as<T>(), out.volume(), convert<T>(fill.empty() ? 0.0f : fill[0]));
      return;
    }
    const int axis = channel_axis(out);
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < axis; ++i) outer *= out.shape[i];
    for (int i = axis + 1; i < out.shape.ndim(); ++i) inner *= out.shape[i];
    T* at = out.as<T>();
    for (int64_t i = 0; i < outer; ++i) {
      for (const float value : fill) at = std::fill_n(at, inner, convert<T>(value));
    }
  });
}

// The window of a tensor of the output's type.
void copy_same_type(const Sample& in, const Window& window, BoundsPolicy policy, std::span<const float> fill,
                    const Sample& out, Arena& arena) {
  if (out.shape.ndim() == 0) {
    std::memcpy(out.data, in.data, in.bytes());
    return;
  }
  if (!window.inside(in.shape)) {
    if (policy == BoundsPolicy::kPad) fill_all(out, fill);
    const BorderCopy borders(in, window, policy, arena);
    if (in.volume() > 0) borders.copy(in.origin(), out.as<uint8_t>());
    return;
  }
  const Shape stored = in.stored_shape();
  int64_t strides[Shape::kMaxDims];
  int64_t stride = 1, offset = 0;
  for (int i = in.shape.ndim() - 1; i >= 0; --i) {
    strides[i] = stride;
    offset += window.anchor[i] * stride;
    stride *= stored[i];
  }
  const size_t size = dtype_size(in.dtype);
  strided_copy(in.origin() + offset * static_cast<int64_t>(size),
               std::span(strides, static_cast<size_t>(in.shape.ndim())), out.data, out.shape, size);
}

}  // namespace

int channel_axis(const Sample& sample) {
  const int axis = sample.layout.find('C');
  return axis >= 0 ? axis : sample.shape.ndim() - 1;
}

void copy_window(const Sample& in, const Window& window, BoundsPolicy policy, std::span<const float> fill,
                 const Sample& out, Arena& arena) {
  if (out.volume() == 0) return;
  if (in.dtype == out.dtype) return copy_same_type(in, window, policy, fill, out, arena);
  if (window.inside(in.shape)) {
    Sample cut = out;
    cut.dtype = in.dtype;
    cut.data = arena.allocate(cut.bytes());
    copy_same_type(in, window, policy, fill, cut, arena);
    convert_array(cut.data, cut.dtype, out.data, out.dtype, out.volume());
    return;
  }
  // Fill values have the output's type, so the input is converted first.
  Sample converted = in;
  const int64_t volume = in.stored_shape().volume();
  converted.dtype = out.dtype;
  converted.data = arena.allocate(static_cast<size_t>(volume) * dtype_size(out.dtype));
  convert_array(in.data, in.dtype, converted.data, converted.dtype, volume);
  copy_same_type(converted, window, policy, fill, out, arena);
}

}  // namespace headrace
