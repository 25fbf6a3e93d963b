// LargestImages: noting sizes, then choosing.
#include "ops/decoders/largest_images.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace headrace {

bool LargestImages::includes(const Fingerprint& key, int64_t bytes, int64_t epoch) {
  if (!chosen_) {
    if (first_epoch_ < 0) first_epoch_ = epoch;
    if (epoch != first_epoch_ || repeats_ > static_cast<int64_t>(sizes_.size())) {
      choose();
    } else if (seen_.insert(key).second) {
      sizes_.push_back(bytes);
    } else {
      ++repeats_;
    }
  }
  return chosen_ && (bytes > smallest_ || (bytes == smallest_ && room_for_smallest_ > 0));
}

void LargestImages::count_kept(int64_t bytes) {
  if (bytes == smallest_) --room_for_smallest_;
}

void LargestImages::choose() {
  chosen_ = true;
  std::sort(sizes_.begin(), sizes_.end(), std::greater<>());
  int64_t sum = 0;
  size_t count = 0;
  while (count < sizes_.size() && sum + sizes_[count] <= limit_) sum += sizes_[count++];
  if (count < sizes_.size()) {
    // Nothing that fits behind one that doesn't: a size is either kept or not, but for the last one.
    smallest_ = count > 0 ? sizes_[count - 1] : std::numeric_limits<int64_t>::max();
    room_for_smallest_ = std::count(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(count), smallest_);
  }
  seen_ = {};
  sizes_ = {};
}

}  // namespace headrace
