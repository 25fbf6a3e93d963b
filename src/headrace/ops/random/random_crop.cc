// Windows of random area, aspect ratio and place.
#include "ops/random/random_crop.h"

#include <algorithm>
#include <cmath>

#include "core/fixed_math.h"

namespace headrace {
namespace {

// A pair of numbers, of which a single one is both.
void read_range(const OpSpec& spec, std::string_view name, double& begin, double& end) {
  const std::vector<double>& range = spec.get_floats(name);
  check(range.size() == 1 || range.size() == 2, "{}: expected one or two numbers, got {}", spec.about(name),
        range.size());
  begin = range.front();
  end = range.back();
  check(begin > 0 && begin <= end && std::isfinite(end), "{}: expected 0 < begin <= end, got [{}, {}]",
        spec.about(name), begin, end);
}

int64_t round_extent(double x) { return std::max<int64_t>(1, static_cast<int64_t>(std::floor(x + 0.5))); }

}  // namespace

Schema& RandomCrop::add_args(Schema& schema) {
  return schema.random()
      .arg("random_area", ArgType::kFloatList, std::vector<double>{0.08, 1.0},
           "Smallest and largest share of the image's area.")
      .arg("random_aspect_ratio", ArgType::kFloatList, std::vector<double>{3.0 / 4, 4.0 / 3},
           "Smallest and largest ratio of width to height.")
      .arg("num_attempts", ArgType::kInt, 10, "Draws before the largest window with an allowed ratio is taken.");
}

RandomCrop::RandomCrop(const OpSpec& spec) : attempts_(spec.get_int("num_attempts")) {
  read_range(spec, "random_area", area_begin_, area_end_);
  read_range(spec, "random_aspect_ratio", ratio_begin_, ratio_end_);
}

bool RandomCrop::draw_size(RandomStream& random, CropBox& box, int64_t height, int64_t width) const {
  const double share = area_begin_ + random.next_double() * (area_end_ - area_begin_);
  const double log_begin = fixed_log(ratio_begin_);
  const double ratio = fixed_exp(log_begin + random.next_double() * (fixed_log(ratio_end_) - log_begin));
  const double area = share * static_cast<double>(height) * static_cast<double>(width);
  box.width = round_extent(std::sqrt(area * ratio));
  box.height = round_extent(std::sqrt(area / ratio));
  const double rounded_ratio = static_cast<double>(box.width) / static_cast<double>(box.height);
  return box.width <= width && box.height <= height && rounded_ratio >= ratio_begin_ && rounded_ratio <= ratio_end_;
}

CropBox RandomCrop::operator()(RandomStream random, int64_t height, int64_t width) const {
  CropBox box;
  if (height <= 0 || width <= 0) return box;
  bool fits = false;
  for (int64_t attempt = 0; attempt < attempts_ && !fits; ++attempt) fits = draw_size(random, box, height, width);
  if (!fits) {
    const double w = static_cast<double>(width), h = static_cast<double>(height);
    box.width = w > h * ratio_end_ ? std::min(round_extent(h * ratio_end_), width) : width;
    box.height = w < h * ratio_begin_ ? std::min(round_extent(w / ratio_begin_), height) : height;
  }
  box.y = static_cast<int64_t>(random.next_below(static_cast<uint64_t>(height - box.height) + 1));
  box.x = static_cast<int64_t>(random.next_below(static_cast<uint64_t>(width - box.width) + 1));
  return box;
}

}  // namespace headrace
