// The entropy indexes of the JPEG files that were decoded in part. See Note [entropy index].
#include "ops/decoders/entropy_index_store.h"

#include <algorithm>
#include <utility>

namespace headrace {

namespace {

constexpr size_t kPointsOfBuffer = (size_t{256} << 10) / sizeof(EntropyPoint);

// What an entry takes besides its points: its node in the map and its place in the table.
constexpr int64_t kBytesOfEntry = 64;

}  // namespace

std::span<const EntropyPoint> EntropyIndexStore::find(const Fingerprint& key) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(key);
  if (entry == entries_.end()) return {};
  return {entry->second.points, entry->second.count};
}

void EntropyIndexStore::add(const Fingerprint& key, const EntropyIndex& index) {
  if (index.found.empty()) return;
  const std::lock_guard lock(mutex_);
  auto entry = entries_.find(key);
  if (entry == entries_.end()) {
    EntropyPoint* points = allocate(static_cast<size_t>(index.size));
    if (!points) return;
    entry = entries_.emplace(key, Entry{points, 0}).first;
    images_.fetch_add(1, std::memory_order_relaxed);
  }
  if (entry->second.count != index.known.size()) return;  // another thread was first
  std::copy(index.found.begin(), index.found.end(), entry->second.points + entry->second.count);
  entry->second.count += index.found.size();
}

// Null if there is no room.
EntropyPoint* EntropyIndexStore::allocate(size_t points) {
  const auto bytes = static_cast<int64_t>(points * sizeof(EntropyPoint)) + kBytesOfEntry;
  if (used_ + bytes > limit_) return nullptr;
  if (points > left_) {
    Ref<Buffer> buffer = group_.allocate_cache(std::max(points, kPointsOfBuffer) * sizeof(EntropyPoint));
    if (!buffer) return nullptr;
    next_ = reinterpret_cast<EntropyPoint*>(buffer->data());
    left_ = std::max(points, kPointsOfBuffer);
    buffers_.push_back(std::move(buffer));
  }
  used_ += bytes;
  left_ -= points;
  return std::exchange(next_, next_ + points);
}

void EntropyIndexStore::close() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
  buffers_.clear();
  next_ = nullptr;
  left_ = 0;
}

}  // namespace headrace
