// RowSink: takes an image row by row as a format decodes it and writes the output that was asked for: region, colour,
// sample type, orientation. Internal to codecs/.
#pragma once

#include <cstdint>
#include <vector>

#include "codecs/image_codec.h"

namespace headrace {

// Channels of the rows that a format delivers. Samples are u8 or u16 in native byte order.
enum class PixelLayout : uint8_t { kGray, kGrayAlpha, kRgb, kRgba, kBgr };

constexpr int pixel_channels(PixelLayout layout) {
  switch (layout) {
    case PixelLayout::kGray: return 1;
    case PixelLayout::kGrayAlpha: return 2;
    case PixelLayout::kRgba: return 4;
    default: return 3;
  }
}

// Row buffers that outlive an image.
struct DecodeScratch {
  std::vector<uint8_t> color;
  std::vector<uint8_t> typed;
};

class RowSink {
 public:
  // Checks the region and the type.
  RowSink(const ImageHeader& header, const ImageDecodeOptions& options, void* out, DecodeScratch& scratch);

  // The pixels needed, as stored: before the orientation is applied.
  const ImageRegion& region() const { return stored_; }
  bool empty() const { return stored_.width == 0 || stored_.height == 0; }

  // States what put() will be given.
  void begin(PixelLayout layout, DType sample);

  // Bytes of one pixel as stated in begin().
  size_t pixel_bytes() const { return source_pixel_; }

  // Where row y may be decoded in place: region().width pixels, no put() needed after. Null if it has to be converted.
  uint8_t* in_place(int y) const;
  // Where all rows may be decoded in place at once, one behind the other from the first. Null if they have to be
  // converted or lie otherwise in the output, from the bottom up for instance.
  uint8_t* all_in_place() const { return row_step_ == stored_.width ? in_place(stored_.y) : nullptr; }

  // Row y of the image as stored; `row` points to the pixel in column region().x.
  void put(int y, const void* row);

  // The same for a row that starts with column 0.
  void put_whole(int y, const void* row) {
    put(y, static_cast<const uint8_t*>(row) + static_cast<size_t>(stored_.x) * source_pixel_);
  }

 private:
  void scatter(int y, const uint8_t* row) const;

  const ImageDecodeOptions& options_;
  DecodeScratch& scratch_;
  ImageColor color_;  // kAny is resolved in begin()
  ImageRegion stored_;
  uint8_t* origin_;         // output pixel of the region's first stored one
  int64_t row_step_ = 0;    // output pixels from a stored row to the next
  int64_t pixel_step_ = 0;  // output pixels from a stored pixel to the next in its row
  PixelLayout layout_ = PixelLayout::kRgb;
  DType sample_ = DType::kUInt8;
  size_t source_pixel_ = 0;
  size_t out_pixel_;
  int out_channels_;
  bool same_color_ = false;
};

}  // namespace headrace
