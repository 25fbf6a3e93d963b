// RowSink: region, colour, sample type and orientation of decoded rows.
#include "codecs/row_sink.h"

#include <cstring>

#include "codecs/pixel_convert.h"

namespace headrace {
namespace {

// Copies pixels of a compile-time size to places `step` bytes apart.
template <size_t bytes> void scatter_pixels(const uint8_t* in, uint8_t* out, int64_t step, int count) {
  for (int i = 0; i < count; ++i, in += bytes, out += step) std::memcpy(out, in, bytes);
}

}  // namespace

RowSink::RowSink(const ImageHeader& header, const ImageDecodeOptions& options, void* out, DecodeScratch& scratch)
    : options_(options), scratch_(scratch), color_(options.color), origin_(static_cast<uint8_t*>(out)) {
  if (!is_image_dtype(options.dtype)) {
    fail(ErrorKind::kUnsupported,
         "image decoder: dtype {} is not supported; take uint8, int8, uint16, int16, uint32, int32 or float",
         dtype_name(options.dtype));
  }
  const int orientation = options.adjust_orientation ? header.orientation : 1;
  const bool swap = orientation >= 5;
  const bool mirror_x = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool mirror_y = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  const int width = swap ? header.height : header.width;
  const int height = swap ? header.width : header.height;
  const ImageRegion r = options.roi.value_or(ImageRegion{0, 0, width, height});
  check(r.x >= 0 && r.y >= 0 && r.width >= 0 && r.height >= 0 && r.x <= width - r.width && r.y <= height - r.height,
        "image decoder: the region (x {}, y {}, width {}, height {}) does not lie inside the image of {} x {} pixels",
        r.x, r.y, r.width, r.height, width, height);

  // u runs along the output's rows, v down its columns; each is a stored axis, possibly reversed.
  const int u = mirror_x ? width - r.x - r.width : r.x;
  const int v = mirror_y ? height - r.y - r.height : r.y;
  stored_ = swap ? ImageRegion{v, u, r.height, r.width} : ImageRegion{u, v, r.width, r.height};
  const int64_t u_step = mirror_x ? -1 : 1;
  const int64_t v_step = mirror_y ? -r.width : r.width;
  pixel_step_ = swap ? v_step : u_step;
  row_step_ = swap ? u_step : v_step;
  out_channels_ = color_ == ImageColor::kAny ? header.channels : color_channels(color_);
  out_pixel_ = static_cast<size_t>(out_channels_) * dtype_size(options.dtype);
  if (empty()) return;
  const int64_t first = (mirror_x ? r.width - 1 : 0) + (mirror_y ? int64_t{r.height - 1} * r.width : 0);
  origin_ += first * static_cast<int64_t>(out_pixel_);
}

void RowSink::begin(PixelLayout layout, DType sample) {
  layout_ = layout;
  sample_ = sample;
  source_pixel_ = static_cast<size_t>(pixel_channels(layout)) * dtype_size(sample);
  check_internal(color_ != ImageColor::kAny || pixel_channels(layout) == out_channels_,
                 "image decoder: {} channels announced, {} delivered", out_channels_, pixel_channels(layout));
  same_color_ = color_ == ImageColor::kAny || (color_ == ImageColor::kRgb && layout == PixelLayout::kRgb) ||
                (color_ == ImageColor::kBgr && layout == PixelLayout::kBgr) ||
                (color_ == ImageColor::kGray && layout == PixelLayout::kGray);
  const size_t width = static_cast<size_t>(stored_.width);
  if (!same_color_) scratch_.color.resize(width * static_cast<size_t>(out_channels_) * dtype_size(sample));
  if (pixel_step_ != 1) scratch_.typed.resize(width * out_pixel_);
}

uint8_t* RowSink::in_place(int y) const {
  if (!same_color_ || sample_ != options_.dtype || pixel_step_ != 1) return nullptr;
  return origin_ + (y - stored_.y) * row_step_ * static_cast<int64_t>(out_pixel_);
}

void RowSink::put(int y, const void* row) {
  const void* colored = row;
  if (!same_color_) {
    convert_color(layout_, color_, sample_, row, scratch_.color.data(), stored_.width);
    colored = scratch_.color.data();
  }
  const int64_t samples = int64_t{stored_.width} * out_channels_;
  if (pixel_step_ == 1) {
    uint8_t* out = origin_ + (y - stored_.y) * row_step_ * static_cast<int64_t>(out_pixel_);
    convert_samples(sample_, options_.dtype, colored, out, samples);
    return;
  }
  if (sample_ == options_.dtype) {
    scatter(y, static_cast<const uint8_t*>(colored));
    return;
  }
  convert_samples(sample_, options_.dtype, colored, scratch_.typed.data(), samples);
  scatter(y, scratch_.typed.data());
}

void RowSink::scatter(int y, const uint8_t* row) const {
  const int64_t pixel = static_cast<int64_t>(out_pixel_);
  uint8_t* out = origin_ + (y - stored_.y) * row_step_ * pixel;
  const int64_t step = pixel_step_ * pixel;
  switch (out_pixel_) {
    case 1: return scatter_pixels<1>(row, out, step, stored_.width);
    case 2: return scatter_pixels<2>(row, out, step, stored_.width);
    case 3: return scatter_pixels<3>(row, out, step, stored_.width);
    case 4: return scatter_pixels<4>(row, out, step, stored_.width);
    default:
      for (int i = 0; i < stored_.width; ++i) std::memcpy(out + i * step, row + i * pixel, out_pixel_);
  }
}

}  // namespace headrace
