// Conversion of pixel rows: colour, then sample type.
#include "codecs/pixel_convert.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace headrace {
namespace {

template <typename T> struct Rgb { T r, g, b; };

template <PixelLayout layout, typename T> Rgb<T> load(const T* p) {
  if constexpr (layout == PixelLayout::kGray || layout == PixelLayout::kGrayAlpha) return {p[0], p[0], p[0]};
  if constexpr (layout == PixelLayout::kBgr) return {p[2], p[1], p[0]};
  return {p[0], p[1], p[2]};
}

template <typename T> T round_to(float v) {
  return static_cast<T>(std::clamp(v + 0.5f, 0.0f, static_cast<float>(std::numeric_limits<T>::max())));
}

template <PixelLayout layout, typename T> T gray_of(const Rgb<T>& p) {
  if constexpr (layout == PixelLayout::kGray || layout == PixelLayout::kGrayAlpha) return p.r;
  return round_to<T>(0.299f * p.r + 0.587f * p.g + 0.114f * p.b);
}

// Studio range of ITU-R BT.601; the offsets 16 and 128 grow with the range of the type.
template <typename T> void store_ycbcr(const Rgb<T>& p, T* out) {
  constexpr float unit = std::numeric_limits<T>::max() / 255.0f;
  out[0] = round_to<T>(16 * unit + 0.25678824f * p.r + 0.50412941f * p.g + 0.09790588f * p.b);
  out[1] = round_to<T>(128 * unit - 0.14822290f * p.r - 0.29099279f * p.g + 0.43921569f * p.b);
  out[2] = round_to<T>(128 * unit + 0.43921569f * p.r - 0.36778831f * p.g - 0.07142737f * p.b);
}

template <PixelLayout layout, ImageColor to, typename T> void convert_row(const T* in, T* out, int count) {
  for (int i = 0; i < count; ++i, in += pixel_channels(layout), out += color_channels(to)) {
    const Rgb<T> p = load<layout>(in);
    if constexpr (to == ImageColor::kGray) {
      out[0] = gray_of<layout>(p);
    } else if constexpr (to == ImageColor::kYCbCr) {
      store_ycbcr(p, out);
    } else {
      out[0] = to == ImageColor::kBgr ? p.b : p.r;
      out[1] = p.g;
      out[2] = to == ImageColor::kBgr ? p.r : p.b;
    }
  }
}

template <PixelLayout layout, typename T> void convert_from(ImageColor to, const T* in, T* out, int count) {
  switch (to) {
    case ImageColor::kRgb: return convert_row<layout, ImageColor::kRgb>(in, out, count);
    case ImageColor::kBgr: return convert_row<layout, ImageColor::kBgr>(in, out, count);
    case ImageColor::kGray: return convert_row<layout, ImageColor::kGray>(in, out, count);
    case ImageColor::kYCbCr: return convert_row<layout, ImageColor::kYCbCr>(in, out, count);
    case ImageColor::kAny: fail(ErrorKind::kInternal, "convert_color: no colour given");
  }
}

template <typename T> void convert_typed(PixelLayout from, ImageColor to, const T* in, T* out, int count) {
  switch (from) {
    case PixelLayout::kGray: return convert_from<PixelLayout::kGray>(to, in, out, count);
    case PixelLayout::kGrayAlpha: return convert_from<PixelLayout::kGrayAlpha>(to, in, out, count);
    case PixelLayout::kRgb: return convert_from<PixelLayout::kRgb>(to, in, out, count);
    case PixelLayout::kRgba: return convert_from<PixelLayout::kRgba>(to, in, out, count);
    case PixelLayout::kBgr: return convert_from<PixelLayout::kBgr>(to, in, out, count);
  }
}

template <typename S, typename D> void scale_samples(const S* in, D* out, int64_t count) {
  constexpr uint64_t from = std::numeric_limits<S>::max();
  if constexpr (is_floating(dtype_of<D>)) {
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<D>(in[i]) / static_cast<D>(from);
  } else {
    constexpr uint64_t to = std::numeric_limits<D>::max();
    // 32 bits where the product fits, so that the loop vectorises.
    using Wide = std::conditional_t<from * to + from <= UINT32_MAX, uint32_t, uint64_t>;
    for (int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<D>((static_cast<Wide>(in[i]) * static_cast<Wide>(to) + static_cast<Wide>(from / 2)) /
                              static_cast<Wide>(from));
    }
  }
}

using ImageTypes = TypeList<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, float>;

}  // namespace

void convert_color(PixelLayout from, ImageColor to, DType sample, const void* in, void* out, int count) {
  if (sample == DType::kUInt16) {
    convert_typed(from, to, static_cast<const uint16_t*>(in), static_cast<uint16_t*>(out), count);
  } else {
    convert_typed(from, to, static_cast<const uint8_t*>(in), static_cast<uint8_t*>(out), count);
  }
}

void convert_samples(DType from, DType to, const void* in, void* out, int64_t count) {
  if (from == to) {
    std::memcpy(out, in, static_cast<size_t>(count) * dtype_size(from));
    return;
  }
  visit_dtype(to, ImageTypes{}, "image decoder, dtype", [&]<typename D>() {
    if (from == DType::kUInt16) {
      scale_samples(static_cast<const uint16_t*>(in), static_cast<D*>(out), count);
    } else {
      scale_samples(static_cast<const uint8_t*>(in), static_cast<D*>(out), count);
    }
  });
}

bool is_image_dtype(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kUInt16:
    case DType::kInt16:
    case DType::kUInt32:
    case DType::kInt32:
    case DType::kFloat32: return true;
    default: return false;
  }
}

void cmyk_to_rgb(const uint8_t* in, uint8_t* out, int count, bool inverted) {
  const uint8_t flip = inverted ? 255 : 0;
  for (int i = 0; i < count; ++i, in += 4, out += 3) {
    const int light = 255 - (in[3] ^ flip);
    for (int c = 0; c < 3; ++c) out[c] = static_cast<uint8_t>(light - ((in[c] ^ flip) * light + 127) / 255);
  }
}

}  // namespace headrace
