// DecodedCache: look-up without a lock, insertion under one.
#include "ops/decoders/decoded_cache.h"

#include <cstdint>
#include <cstring>
#include <new>

#include "core/prefetch.h"

namespace headrace {
namespace {

constexpr size_t kFirstSlots = 1024;
constexpr size_t kAlignment = 16;
constexpr size_t kBufferBytes = 1 << 20;               // shared by small images
constexpr size_t kLargeImageBytes = kBufferBytes / 8;  // has a buffer of its own

constexpr size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

double megabytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

const DecodedCache::Image* DecodedCache::find(const Fingerprint& key, int64_t record) const {
  const Table* table = table_.load(std::memory_order_acquire);
  if (!table) return nullptr;
  Table::Slot& hint = table->hint(record);
  const Image* hinted = hint.load(std::memory_order_acquire);
  if (hinted && hinted->key == key) return hinted;
  for (size_t i = key.low & table->mask;; i = (i + 1) & table->mask) {
    const Image* image = table->slots[i].load(std::memory_order_acquire);
    if (!image) return nullptr;
    if (image->key != key) continue;
    if (!image->complete.load(std::memory_order_acquire)) return nullptr;
    hint.store(image, std::memory_order_release);
    return image;
  }
}

void DecodedCache::prefetch(int64_t soon, int64_t later) const {
  const Table* table = table_.load(std::memory_order_acquire);
  if (!table) return;
  prefetch_bytes(&table->hint(later), sizeof(Table::Slot));
  // The first pixels lie behind the image's entry.
  if (const Image* image = table->hint(soon).load(std::memory_order_relaxed)) prefetch_bytes(image, SIZE_MAX);
}

bool DecodedCache::wants(const Fingerprint& key, int64_t bytes, int64_t epoch) {
  if (stopped_.load(std::memory_order_relaxed) || bytes <= options_.threshold) return false;
  if (options_.largest && !is_among_largest(key, bytes, epoch)) return false;
  const bool fits = bytes <= limit_ - this->bytes();
  if (!fits && options_.debug && !full_noted_.exchange(true)) {
    group_.note(LogLevel::kInfo, fmt::format("decoder cache: full with {} images, {:.1f} of {:.1f} MB", images(),
                                             megabytes(this->bytes()), megabytes(limit_)));
  }
  return fits;
}

bool DecodedCache::is_among_largest(const Fingerprint& key, int64_t bytes, int64_t epoch) {
  const std::lock_guard lock(mutex_);
  if (!largest_) largest_.emplace(limit_);
  const bool was_chosen = largest_->is_chosen();
  const bool included = largest_->includes(key, bytes, epoch);
  if (options_.debug && largest_->is_chosen() && !was_chosen) {
    group_.note(LogLevel::kInfo,
                fmt::format("decoder cache: of the images seen so far it keeps those of {} bytes and more",
                            largest_->smallest()));
  }
  return included;
}

void DecodedCache::insert(const Fingerprint& key, const ImageExtents& extents, const void* pixels, int64_t bytes) {
  Image* image = reserve(key, extents, bytes);
  if (!image) return;
  std::memcpy(image->pixels, pixels, static_cast<size_t>(bytes));
  image->complete.store(true, std::memory_order_release);
}

// An image without pixels yet, which find() passes over, so that pixels are copied outside of the lock.
DecodedCache::Image* DecodedCache::reserve(const Fingerprint& key, const ImageExtents& extents, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (stopped_ || bytes > limit_ - this->bytes() || !make_room_in_table()) return nullptr;
  const Table& table = *tables_.back();
  for (size_t i = key.low & table.mask; table.slots[i]; i = (i + 1) & table.mask) {
    if (table.slots[i].load()->key == key) return nullptr;
  }
  uint8_t* memory = allocate(aligned(sizeof(Image)) + aligned(static_cast<size_t>(bytes)));
  if (!memory) return nullptr;
  auto* image = new (memory) Image{.key = key, .extents = extents, .pixels = memory + aligned(sizeof(Image))};
  put(table, image);
  ++images_;
  used_ += bytes;
  if (largest_) largest_->count_kept(bytes);
  return image;
}

// At most a quarter of the slots is taken: who meets another image in its slot has to wait for memory once more.
bool DecodedCache::make_room_in_table() {
  const size_t slots = tables_.empty() ? 0 : tables_.back()->mask + 1;
  if (4 * (static_cast<size_t>(images()) + 1) <= slots) return true;
  auto table = std::make_unique<Table>();
  const size_t new_slots = slots == 0 ? kFirstSlots : 2 * slots;
  const size_t all = new_slots + new_slots / 2;
  table->memory = allocate_buffer(all * sizeof(Table::Slot));
  if (!table->memory) return false;
  table->mask = new_slots - 1;
  table->slots = reinterpret_cast<Table::Slot*>(table->memory->data());
  table->hints = table->slots + new_slots;
  for (size_t i = 0; i < all; ++i) new (&table->slots[i]) Table::Slot(nullptr);
  for (size_t i = 0; i < slots; ++i) {
    if (const Image* image = tables_.back()->slots[i]) put(*table, image);
  }
  table_.store(table.get(), std::memory_order_release);
  tables_.push_back(std::move(table));
  return true;
}

void DecodedCache::put(const Table& table, const Image* image) {
  size_t i = image->key.low & table.mask;
  while (table.slots[i]) i = (i + 1) & table.mask;
  table.slots[i].store(image, std::memory_order_release);
}

uint8_t* DecodedCache::allocate(size_t bytes) {
  if (bytes > left_) {
    const bool is_large = bytes > kLargeImageBytes;
    Ref<Buffer> buffer = allocate_buffer(is_large ? bytes : kBufferBytes);
    if (!buffer) return nullptr;
    buffers_.push_back(buffer);
    if (is_large) return buffer->data();
    next_ = buffer->data();
    left_ = buffer->size();
  }
  left_ -= bytes;
  return std::exchange(next_, next_ + bytes);
}

Ref<Buffer> DecodedCache::allocate_buffer(size_t bytes) {
  Ref<Buffer> buffer = group_.allocate_cache(bytes);
  if (buffer) return buffer;
  stopped_ = true;
  group_.note(LogLevel::kWarning,
              fmt::format("decoder cache: memory is short, so it keeps {} images, {:.1f} MB of the {:.1f} MB "
                          "of cache_size, and takes no more; raise memory_limit or lower cache_size",
                          images(), megabytes(this->bytes()), megabytes(limit_)));
  return nullptr;
}

void DecodedCache::close() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  table_ = nullptr;
  used_ = images_ = 0;
  tables_.clear();
  buffers_.clear();
  next_ = nullptr;
  left_ = 0;
}

}  // namespace headrace
