// LargestImages: which images are among the largest that fit into a cache, once the sizes of all were seen.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "core/fingerprint.h"

namespace headrace {

// The choice is made when the first epoch is over: when a sample of another epoch comes, or, as programs that feed
// files have one epoch only, when as many images came again as there are. Not thread safe.
class LargestImages {
 public:
  // `limit`: bytes of the cache.
  explicit LargestImages(int64_t limit) : limit_(limit) {}

  // Whether the image is to be kept; false while the choice isn't made, then its size is noted instead. True when it
  // wasn't seen before the choice, but is as large: it may take the room of another one.
  bool includes(const Fingerprint& key, int64_t bytes, int64_t epoch);
  // An image that is included was put into the cache.
  void count_kept(int64_t bytes);

  bool is_chosen() const { return chosen_; }
  // After the choice: bytes of the smallest image that is kept. 0: all are.
  int64_t smallest() const { return smallest_; }

 private:
  void choose();

  const int64_t limit_;
  bool chosen_ = false;
  int64_t first_epoch_ = -1;
  int64_t repeats_ = 0;
  std::unordered_set<Fingerprint, FingerprintHash> seen_;
  std::vector<int64_t> sizes_;
  int64_t smallest_ = 0;
  int64_t room_for_smallest_ = 0;  // how many of exactly that size may still be put
};

}  // namespace headrace
