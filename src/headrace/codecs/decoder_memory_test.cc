// Test that decoding allocates nothing once a decoder has seen an image of the kind: malloc itself is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "codecs/codec_testing.h"
#include "codecs/image_codec.h"

// The sanitizers bring a malloc of their own.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {
std::atomic<int> allocations = 0;
}

// NOLINTBEGIN(readability-identifier-naming): glibc's names.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);

void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* block, size_t size) {
  ++allocations;
  return __libc_realloc(block, size);
}
}
// NOLINTEND(readability-identifier-naming)

namespace headrace {
namespace {

using namespace testing_images;

TEST(DecoderMemory, TheSteadyStateAllocatesNothing) {
  ImageDecoder decoder;
  for (const char* name : {"restarts.jpg", "jpg-cmyk-1.jpg", "empty_gps_ifd.jpg", "l_trns.png", "exif8.png", "rgb.bmp",
                           "palette.bmp", "rgb.ppm"}) {
    const ByteVector bytes = read_file(std::string(HEADRACE_TEST_DATA) + "/images/" + name);
    const ImageDecodeOptions options = {.color = ImageColor::kYCbCr, .dtype = DType::kFloat32};
    const Shape shape = decoded_image_shape(read_image_header(bytes), options);
    ByteVector out(static_cast<size_t>(shape.volume()) * sizeof(float));
    int before = 0;
    for (int i = 0; i < 20; ++i) {
      if (i == 2) before = allocations;
      decoder.decode(bytes, read_image_header(bytes), options, out.data());
    }
    EXPECT_EQ(allocations, before) << name;
  }
  const int before = allocations;
  std::free(std::malloc(1));
  EXPECT_GT(allocations, before) << "malloc is not counted";
}

}  // namespace
}  // namespace headrace

#endif
