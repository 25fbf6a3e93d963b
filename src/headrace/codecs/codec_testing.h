// What the tests of the codecs share: decoding into a vector, cutting a window out of an image.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "codecs/image_codec.h"

namespace headrace::testing_images {

using ByteVector = std::vector<uint8_t>;

inline ByteVector decode(ImageDecoder& decoder, const ByteVector& bytes, const ImageDecodeOptions& options = {}) {
  const ImageHeader header = read_image_header(bytes);
  Shape shape = decoded_image_shape(header, options);
  if (options.roi) {
    shape[0] = std::max(options.roi->height, 0);
    shape[1] = std::max(options.roi->width, 0);
  }
  ByteVector out(static_cast<size_t>(shape.volume()) * dtype_size(options.dtype));
  decoder.decode(bytes, header, options, out.data());
  return out;
}

// The window of an image of `pixel_bytes` per pixel, by a plain loop.
inline ByteVector slice(const ByteVector& image, int width, int pixel_bytes, const ImageRegion& r) {
  ByteVector out;
  for (int y = r.y; y < r.y + r.height; ++y) {
    const auto row = image.begin() + (static_cast<ptrdiff_t>(y) * width + r.x) * pixel_bytes;
    out.insert(out.end(), row, row + static_cast<ptrdiff_t>(r.width) * pixel_bytes);
  }
  return out;
}

inline ImageRegion random_region(std::mt19937& random, int width, int height) {
  ImageRegion r;
  r.width = 1 + static_cast<int>(random() % static_cast<unsigned>(width));
  r.height = 1 + static_cast<int>(random() % static_cast<unsigned>(height));
  r.x = static_cast<int>(random() % static_cast<unsigned>(width - r.width + 1));
  r.y = static_cast<int>(random() % static_cast<unsigned>(height - r.height + 1));
  return r;
}

inline ByteVector read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace headrace::testing_images
