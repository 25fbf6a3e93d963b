// Which blocks and rows a region of an image needs.
#pragma once

#include "codecs/image_codec.h"
#include "codecs/jpeg/layout.h"

namespace headrace::jpeg {

// How the second and third component are brought to the extent of the first.
enum class Upsampling : uint8_t { kNone, kRepeat, kH2V1, kH2V2, kH1V2 };

struct Geometry {
  int h = 1;  // sampling of the first component; 1 if there is no other
  int v = 1;
  Upsampling upsampling = Upsampling::kNone;
  int mcus_across = 0;
  int mcus_down = 0;
  int first_mcu = 0;  // columns of MCUs that the region needs
  int end_mcu = 0;
  int first_row = 0;  // rows of MCUs that it needs
  int end_row = 0;
  int chroma_width = 0;  // samples of the second and third component in the image
  int chroma_height = 0;

  int mcu_width() const { return 8 * h; }
  int mcu_height() const { return 8 * v; }
  bool uses_rows_around() const { return upsampling == Upsampling::kH2V2 || upsampling == Upsampling::kH1V2; }
};

// `with_chroma`: the second and third component are wanted. Exactly the rows of MCUs that libjpeg-turbo would read for
// the region are to be decoded, so that both see the same damage.
Geometry plan_region(const FileLayout& layout, const ImageRegion& region, bool with_chroma);

}  // namespace headrace::jpeg
