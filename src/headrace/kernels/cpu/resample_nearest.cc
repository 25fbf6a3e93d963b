// Resampling by the nearest element.
#include "kernels/cpu/resample_nearest.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/convert.h"
#include "core/error.h"

namespace headrace {
namespace {

using Gather = void (*)(const uint8_t* in, const int64_t* offsets, int64_t n, size_t bytes, uint8_t* out);

template <size_t kBytes> void gather_fixed(const uint8_t* in, const int64_t* offsets, int64_t n, size_t, uint8_t* out) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(out + static_cast<size_t>(i) * kBytes, in + offsets[i], kBytes);
}

// Three bytes by way of four, of which the next pixel overwrites the last: the input has one byte more than it needs.
void gather_three(const uint8_t* in, const int64_t* offsets, int64_t n, uint8_t* out) {
  for (int64_t i = 0; i + 1 < n; ++i) std::memcpy(out + 3 * i, in + offsets[i], 4);
  std::memcpy(out + 3 * (n - 1), in + offsets[n - 1], 3);
}

void gather(const uint8_t* in, const int64_t* offsets, int64_t n, size_t bytes, uint8_t* out) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(out + static_cast<size_t>(i) * bytes, in + offsets[i], bytes);
}

Gather find_gather(size_t bytes) {
  switch (bytes) {
    case 1: return gather_fixed<1>;
    case 2: return gather_fixed<2>;
    case 3: return gather_fixed<3>;
    case 4: return gather_fixed<4>;
    case 6: return gather_fixed<6>;
    case 8: return gather_fixed<8>;
    case 12: return gather_fixed<12>;
    case 16: return gather_fixed<16>;
    default: return gather;
  }
}

// For each output of the axis where its element lies, in bytes from the axis's first.
const int64_t* offsets_of(const AxisWindow& window, size_t bytes, Arena& arena) {
  const ResampleAxis& axis = window.axis;
  const auto offsets = arena.allocate_array<int64_t>(static_cast<size_t>(window.out));
  for (int64_t i = 0; i < window.out; ++i) {
    const int64_t element = axis.is_identity() ? i : nearest_element(axis, window.out_begin + i) - window.in_begin;
    check_internal(element >= 0 && element < window.in, "resampling reads input {} of {}", element, window.in);
    offsets[static_cast<size_t>(i)] = element * static_cast<int64_t>(bytes);
  }
  return offsets.data();
}

}  // namespace

void resample_nearest(const Sample& in, std::span<const AxisWindow> axes, const Sample& out, Arena& arena) {
  size_t last = axes.size() - 1;
  size_t pixel = dtype_size(in.dtype);
  while (axes[last].axis.is_identity()) pixel *= static_cast<size_t>(axes[last--].in);
  std::array<const int64_t*, Shape::kMaxDims> offsets{};
  size_t step = pixel;
  for (size_t i = last + 1; i-- > 0;) {
    offsets[i] = offsets_of(axes[i], step, arena);
    step *= static_cast<size_t>(axes[i].in);
  }
  const int64_t row_pixels = axes[last].out;
  const int64_t row_elements = row_pixels * static_cast<int64_t>(pixel / dtype_size(in.dtype));
  const size_t row_bytes = static_cast<size_t>(row_pixels) * pixel;
  const bool converts = in.dtype != out.dtype;
  uint8_t* buffer = converts ? arena.allocate_array<uint8_t>(row_bytes).data() : nullptr;
  const Gather gather_row = find_gather(pixel);
  const uint8_t* in_end =
      in.as<const uint8_t>() + static_cast<size_t>(in.stored_shape().volume()) * dtype_size(in.dtype);
  const int64_t farthest = std::max(offsets[last][0], offsets[last][row_pixels - 1]);

  std::array<int64_t, Shape::kMaxDims> at{};
  uint8_t* to = out.as<uint8_t>();
  for (int64_t rows = out.stored_shape().volume() / row_elements; rows > 0; --rows) {
    const uint8_t* from = in.as<const uint8_t>();
    for (size_t i = 0; i < last; ++i) from += offsets[i][at[i]];
    if (pixel == 3 && from + farthest + 4 <= in_end) {
      gather_three(from, offsets[last], row_pixels, converts ? buffer : to);
    } else {
      gather_row(from, offsets[last], row_pixels, pixel, converts ? buffer : to);
    }
    if (converts) convert_array(buffer, in.dtype, to, out.dtype, row_elements);
    to += static_cast<size_t>(row_elements) * dtype_size(out.dtype);
    for (size_t i = last; i-- > 0 && ++at[i] == axes[i].out;) at[i] = 0;
  }
}

}  // namespace headrace
