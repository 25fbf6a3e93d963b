// Memory for libjpeg's per-image state that is kept from one image to the next. Internal to codecs/.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <vector>

#include <jpeglib.h>

namespace headrace {

// Takes the place of libjpeg's allocator for memory that lives as long as an image. libjpeg would ask malloc for it and
// give it back with every image, which is a good part of the time that a tiny one takes. What progressive images need
// (the coefficients of the whole image) stays with libjpeg's own allocator.
class JpegMemory {
 public:
  JpegMemory() = default;
  JpegMemory(const JpegMemory&) = delete;
  JpegMemory& operator=(const JpegMemory&) = delete;

  // To be called once, after jpeg_create_decompress; this object must outlive `cinfo`. Uses cinfo->client_data.
  void install(j_common_ptr cinfo);

 private:
  static void* alloc(j_common_ptr cinfo, int pool, size_t bytes);
  static void* alloc_large(j_common_ptr cinfo, int pool, size_t bytes);
  static JSAMPARRAY alloc_rows(j_common_ptr cinfo, int pool, JDIMENSION samples, JDIMENSION rows);
  static void free_pool(j_common_ptr cinfo, int pool);

  void* take(size_t bytes);
  void rewind();

  struct Chunk {
    std::unique_ptr<std::byte[]> memory;
    size_t size;
  };
  std::vector<Chunk> chunks_;  // the last one is in use
  size_t used_ = 0;            // bytes of it
  jpeg_memory_mgr original_{};
};

}  // namespace headrace
