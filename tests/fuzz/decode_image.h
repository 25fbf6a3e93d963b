// What the image fuzz targets share: decoding bytes of given formats with options that the bytes choose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "codecs/image_codec.h"
#include "core/error.h"

namespace headrace::fuzz {

// Options out of one number, so that every colour, type and kind of region is met.
inline ImageDecodeOptions options_from(uint32_t choice, const Shape& shape) {
  constexpr DType kTypes[] = {DType::kUInt8, DType::kUInt8, DType::kInt16, DType::kFloat32};
  ImageDecodeOptions options;
  options.color = static_cast<ImageColor>(choice % 5);
  options.dtype = kTypes[choice / 5 % 4];
  options.adjust_orientation = choice / 20 % 4 != 0;
  if (choice / 80 % 2) return options;
  const int height = static_cast<int>(options.adjust_orientation ? shape[0] : 1);
  const int width = static_cast<int>(options.adjust_orientation ? shape[1] : 1);
  ImageRegion r;
  r.width = 1 + static_cast<int>(choice / 160) % width;
  r.height = 1 + static_cast<int>(choice / 320) % height;
  r.x = static_cast<int>(choice / 640) % (width - r.width + 1);
  r.y = static_cast<int>(choice / 1280) % (height - r.height + 1);
  options.roi = r;
  return options;
}

// Decodes if the bytes are of one of `formats`; errors are what damaged bytes should give. One decoder sees all
// inputs, so that state left behind by a bad one shows.
inline void decode_image(const uint8_t* data, size_t size, std::initializer_list<ImageFormat> formats) {
  static ImageDecoder decoder;
  constexpr int64_t kLargestImage = 1 << 20;  // samples; larger ones only make fuzzing slow
  const std::span<const uint8_t> bytes(data, size);
  bool wanted = false;
  for (const ImageFormat format : formats) wanted |= detect_image_format(bytes) == format;
  if (!wanted) return;
  try {
    const ImageHeader header = read_image_header(bytes);
    const Shape shape = decoded_image_shape(header, {});
    if (shape.volume() > kLargestImage) return;
    uint32_t choice = 2166136261u;
    for (size_t i = size < 16 ? 0 : size - 16; i < size; ++i) choice = (choice ^ data[i]) * 16777619u;
    const ImageDecodeOptions options = options_from(choice, shape);
    Shape out_shape = decoded_image_shape(header, options);
    if (options.roi) {
      out_shape[0] = options.roi->height;
      out_shape[1] = options.roi->width;
    }
    std::vector<uint8_t> out(static_cast<size_t>(out_shape.volume()) * dtype_size(options.dtype));
    decoder.decode(bytes, header, options, out.data());
  } catch (const Error&) {
  }
}

}  // namespace headrace::fuzz
