// Random crops: the windows that random_crop_generator, random_resized_crop and decoders.image_random_crop share.
#pragma once

#include <cstdint>
#include <string>

#include "core/philox.h"
#include "graph/op_spec.h"

namespace headrace {

// A window in pixels.
struct CropBox {
  int64_t y = 0;
  int64_t x = 0;
  int64_t height = 0;
  int64_t width = 0;
};

class RandomCrop {
 public:
  // Declares the arguments random_area, random_aspect_ratio and num_attempts.
  static Schema& add_args(Schema& schema);

  explicit RandomCrop(const OpSpec& spec);

  // A window of an image of that size, equally often at each place. Its share of the image's area is uniform in
  // random_area, its ratio of width to height log-uniform in random_aspect_ratio. If num_attempts draws don't fit into
  // the image, the whole image, cut down to an allowed ratio.
  CropBox operator()(RandomStream random, int64_t height, int64_t width) const;

 private:
  bool draw_size(RandomStream& random, CropBox& box, int64_t height, int64_t width) const;

  double area_begin_, area_end_;
  double ratio_begin_, ratio_end_;
  int64_t attempts_;
};

}  // namespace headrace
