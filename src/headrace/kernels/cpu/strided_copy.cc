// Strided copy: merges axes, then works on the two axes that matter for the cache.
#include "kernels/cpu/strided_copy.h"

#include <cstring>
#include <utility>

namespace headrace {
namespace {

struct Axis {
  int64_t extent = 1;
  int64_t in_stride = 0;
  int64_t out_stride = 0;
};

// The axes of a copy, outermost first in the order of the output, none of extent 1, none that could be merged.
struct Axes {
  Axis axis[Shape::kMaxDims];
  int count = 0;
};

Axes merged_axes(const Shape& shape, std::span<const int64_t> strides) {
  Axes axes;
  for (int i = 0; i < shape.ndim(); ++i) {
    if (shape[i] == 1) continue;
    Axis& last = axes.axis[axes.count > 0 ? axes.count - 1 : 0];
    const int64_t stride = strides[static_cast<size_t>(i)];
    if (axes.count > 0 && last.in_stride == stride * shape[i]) {
      last.extent *= shape[i];
      last.in_stride = stride;
    } else {
      axes.axis[axes.count++] = {shape[i], stride, 0};
    }
  }
  int64_t out_stride = 1;
  for (int i = axes.count - 1; i >= 0; --i) {
    axes.axis[i].out_stride = out_stride;
    out_stride *= axes.axis[i].extent;
  }
  return axes;
}

// Rows of neighbouring elements.
template <typename T> void copy_rows(const T* in, T* out, const Axis& rows, int64_t length) {
  for (int64_t r = 0; r < rows.extent; ++r, in += rows.in_stride, out += rows.out_stride) {
    if (length <= 4) {
      for (int64_t i = 0; i < length; ++i) out[i] = in[i];
    } else {
      std::memcpy(out, in, static_cast<size_t>(length) * sizeof(T));
    }
  }
}

// Two axes, `inner` contiguous in the output. A tile of `inner` is visited for all of `outer` before the next one, so
// that the cache lines of the input that it touches are used up while they are there.
template <typename T> void copy_tiled(const T* in, T* out, const Axis& outer, const Axis& inner) {
  constexpr int64_t kTile = 64;
  for (int64_t start = 0; start < inner.extent; start += kTile) {
    const int64_t length = std::min(kTile, inner.extent - start);
    for (int64_t o = 0; o < outer.extent; ++o) {
      const T* __restrict from = in + o * outer.in_stride + start * inner.in_stride;
      T* __restrict to = out + o * outer.out_stride + start;
      for (int64_t i = 0; i < length; ++i) to[i] = from[i * inner.in_stride];
    }
  }
}

// Calls copy(in, out) for each index of the first `count` axes.
template <typename T, typename Copy>
void for_each_outer(const Axis* axes, int count, const T* in, T* out, const Copy& copy) {
  if (count == 0) {
    copy(in, out);
    return;
  }
  for (int64_t i = 0; i < axes->extent; ++i, in += axes->in_stride, out += axes->out_stride) {
    for_each_outer(axes + 1, count - 1, in, out, copy);
  }
}

template <typename T> void copy_axes(const T* in, T* out, Axes axes) {
  if (axes.count == 0) {
    *out = *in;
    return;
  }
  const Axis inner = axes.axis[--axes.count];
  Axis partner;
  if (inner.in_stride == 1) {
    if (axes.count > 0) partner = axes.axis[--axes.count];
    for_each_outer(axes.axis, axes.count, in, out,
                   [&](const T* from, T* to) { copy_rows(from, to, partner, inner.extent); });
    return;
  }
  // The partner is the axis along which the input is densest.
  int best = -1;
  for (int i = 0; i < axes.count; ++i) {
    const auto stride = [&](int k) { return std::abs(axes.axis[k].in_stride); };
    if (best < 0 || stride(i) < stride(best)) best = i;
  }
  if (best >= 0) {
    partner = axes.axis[best];
    for (int i = best; i + 1 < axes.count; ++i) axes.axis[i] = axes.axis[i + 1];
    --axes.count;
  }
  for_each_outer(axes.axis, axes.count, in, out, [&](const T* from, T* to) { copy_tiled(from, to, partner, inner); });
}

template <typename T> void copy_as(const void* in, void* out, const Axes& axes) {
  copy_axes(static_cast<const T*>(in), static_cast<T*>(out), axes);
}

}  // namespace

void strided_copy(const void* in, std::span<const int64_t> strides, void* out, const Shape& shape,
                  size_t element_size) {
  if (shape.volume() == 0) return;
  const Axes axes = merged_axes(shape, strides);
  switch (element_size) {
    case 1: return copy_as<uint8_t>(in, out, axes);
    case 2: return copy_as<uint16_t>(in, out, axes);
    case 4: return copy_as<uint32_t>(in, out, axes);
    case 8: return copy_as<uint64_t>(in, out, axes);
    default: check_internal(false, "strided_copy: elements of {} bytes", element_size);
  }
}

}  // namespace headrace
