// Fuzz target: BMP, PNM, TIFF, WebP and JPEG 2000 images.
#include "decode_image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using headrace::ImageFormat;
  headrace::fuzz::decode_image(
      data, size,
      {ImageFormat::kBmp, ImageFormat::kPnm, ImageFormat::kTiff, ImageFormat::kWebp, ImageFormat::kJpeg2000});
  return 0;
}
