// Fuzz target: JPEG images.
#include "decode_image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  headrace::fuzz::decode_image(data, size, {headrace::ImageFormat::kJpeg});
  return 0;
}
