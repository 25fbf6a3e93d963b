// Arena: block management.
#include "core/arena.h"

#include <algorithm>

namespace headrace {

void Arena::grow(size_t bytes) {
  constexpr size_t kSmallestBlock = size_t{64} << 10;
  blocks_.push_back(pool_->allocate(std::max(bytes, kSmallestBlock), MemoryUse::kArenas));
  next_ = blocks_.back()->data();
  available_ = blocks_.back()->size();
}

void Arena::reset() {
  if (blocks_.empty()) return;
  if (blocks_.size() > 1) {
    size_t total = 0;
    for (const auto& block : blocks_) total += block->size();
    blocks_.clear();
    available_ = 0;
    grow(total);
    return;
  }
  next_ = blocks_.back()->data();
  available_ = blocks_.back()->size();
}

}  // namespace headrace
