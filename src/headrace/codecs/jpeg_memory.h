// Memory for libjpeg's per-image state that is kept from one image to the next. Internal to codecs/.
#pragma once

#include <memory>

struct jpeg_common_struct;  // libjpeg's: what j_common_ptr points to
struct jpeg_decompress_struct;

namespace headrace {

// Takes the place of libjpeg's allocator for memory that lives as long as an image. libjpeg would ask malloc for it and
// give it back with every image, which is a good part of the time that a tiny one takes. What progressive images need
// (the coefficients of the whole image) stays with libjpeg's own allocator. Tables live as long as their image, too,
// whatever libjpeg says: forget_tables() must follow each image.
class JpegMemory {
 public:
  JpegMemory();
  ~JpegMemory();
  JpegMemory(const JpegMemory&) = delete;
  JpegMemory& operator=(const JpegMemory&) = delete;

  // To be called once, after jpeg_create_decompress; this object must outlive `cinfo`. Uses cinfo->client_data.
  void install(jpeg_common_struct* cinfo);
  // libjpeg would use the tables of the image before for one that lacks its own.
  static void forget_tables(jpeg_decompress_struct& cinfo);

 private:
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace headrace
