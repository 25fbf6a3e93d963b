// Which blocks and rows a region of an image needs.
#include "codecs/jpeg/geometry.h"

#include <algorithm>

namespace headrace::jpeg {
namespace {

int divide_up(int a, int b) { return (a + b - 1) / b; }

// libjpeg filters chroma only if it has more than two columns, except for vertical sampling alone.
Upsampling upsampling_of(int h, int v, int chroma_width) {
  if (h == 1) return v == 1 ? Upsampling::kNone : Upsampling::kH1V2;
  if (h == 2 && chroma_width > 2) return v == 1 ? Upsampling::kH2V1 : Upsampling::kH2V2;
  return Upsampling::kRepeat;
}

// The first row of MCUs that libjpeg doesn't read. It works by row groups, the pixel rows that one row of chroma
// covers, and to filter the last group of a row of MCUs reads the next one.
int end_of_rows(const Geometry& g, int v, int last_pixel_row, int rows) {
  const int group = last_pixel_row / v;
  const bool reads_on = g.uses_rows_around() && group % 8 == 7;
  return std::min(group / 8 + (reads_on ? 2 : 1), rows);
}

}  // namespace

Geometry plan_region(const FileLayout& layout, const ImageRegion& region, bool with_chroma) {
  const Component& first = layout.component[0];
  const bool alone = layout.components == 1;
  Geometry g;
  g.h = alone ? 1 : first.h;
  g.v = alone ? 1 : first.v;
  g.chroma_width = divide_up(layout.width, g.h);
  g.chroma_height = divide_up(layout.height, g.v);
  if (with_chroma) g.upsampling = upsampling_of(g.h, g.v, g.chroma_width);
  g.mcus_across = divide_up(layout.width, g.mcu_width());
  g.mcus_down = divide_up(layout.height, g.mcu_height());
  // A filter reaches one chroma sample beyond the region.
  const int margin_x = g.upsampling == Upsampling::kNone ? 0 : g.h;
  const int margin_y = g.uses_rows_around() ? g.v : 0;
  g.first_mcu = std::max(region.x - margin_x, 0) / g.mcu_width();
  g.end_mcu = std::min(divide_up(region.x + region.width + margin_x, g.mcu_width()), g.mcus_across);
  g.first_row = std::max(region.y - margin_y, 0) / g.mcu_height();
  // A gray image has rows of MCUs as high as its sampling factor says, though nothing else depends on it.
  const int last = region.y + region.height - 1;
  const int v = alone ? first.v : g.v;
  g.end_row = end_of_rows(g, v, last, divide_up(layout.height, 8 * v));
  if (alone) g.end_row = std::min(g.end_row * v, g.mcus_down);
  return g;
}

}  // namespace headrace::jpeg
