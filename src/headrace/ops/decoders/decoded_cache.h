// DecodedCache: decoded images within a limit of memory, found again by the contents of their files.
//
// Note [decoded cache]: the key is the fingerprint of the encoded bytes, not the name of the file: a file that changed
// is another one, two readers of the same files share their images, and files that a program feeds are cached too.
// It costs a pass over the bytes, 0.1 us for a digit of MNIST. Images are never dropped while the pipeline lives, so a
// pointer into the cache stays good and looking up takes no lock; when the limit is reached, what is there stays.
//
// Note [hints]: where images are decoded already, waiting for memory is most of the work. So the cache remembers which
// image a record gave the last time. That image is prefetched before the record is read, and tried first; the
// fingerprint decides whether it is the right one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/fingerprint.h"
#include "graph/group_state.h"
#include "ops/decoders/largest_images.h"

namespace headrace {

struct ImageExtents {
  int32_t height = 0;
  int32_t width = 0;
  int32_t channels = 0;
};

struct DecodedCacheOptions {
  int64_t threshold = 0;  // only images of more bytes are kept
  bool largest = false;   // only the largest ones, from the second epoch on; else whatever comes first
  bool debug = false;     // log when it is full or has chosen
};

// Shared by the decoders of a group that decode alike. Thread safe.
class DecodedCache final : public SharedObject {
 public:
  // An image in the cache: pixels, densely.
  struct Image {
    Fingerprint key;
    ImageExtents extents;
    uint8_t* pixels = nullptr;
    std::atomic<bool> complete = false;
  };

  // `group` owns the cache.
  DecodedCache(GroupState& group, const DecodedCacheOptions& options) : group_(group), options_(options) {}

  // Adds a decoder's share to the limit, in bytes of pixels. Before the first look-up.
  void add_share(int64_t bytes) { limit_ += bytes; }

  // The image of the file with this fingerprint, or null. Valid until close(). `record`: Source::index of the file.
  const Image* find(const Fingerprint& key, int64_t record) const;
  // As SampleOperator::prefetch(), of records.
  void prefetch(int64_t soon, int64_t later) const;
  // Whether insert() would take an image of so many bytes, of a sample of that epoch, that find() didn't give.
  bool wants(const Fingerprint& key, int64_t bytes, int64_t epoch);
  // Keeps a copy of the pixels if there is room, and another thread didn't do so already.
  void insert(const Fingerprint& key, const ImageExtents& extents, const void* pixels, int64_t bytes);

  int64_t images() const { return images_.load(std::memory_order_relaxed); }
  int64_t bytes() const { return used_.load(std::memory_order_acquire); }
  int64_t limit() const { return limit_; }

  void close() override;

 private:
  // Open addressing. A table that became too small is kept for those who are reading it.
  struct Table {
    using Slot = std::atomic<const Image*>;
    Ref<Buffer> memory;
    size_t mask = 0;  // number of slots - 1
    Slot* slots = nullptr;
    Slot* hints = nullptr;  // complete images, by record: half as many as slots

    Slot& hint(int64_t record) const { return hints[static_cast<size_t>(record) & mask / 2]; }
  };

  bool is_among_largest(const Fingerprint& key, int64_t bytes, int64_t epoch);
  Image* reserve(const Fingerprint& key, const ImageExtents& extents, int64_t bytes);
  uint8_t* allocate(size_t bytes);
  Ref<Buffer> allocate_buffer(size_t bytes);
  bool make_room_in_table();
  static void put(const Table& table, const Image* image);

  GroupState& group_;
  const DecodedCacheOptions options_;
  int64_t limit_ = 0;
  std::atomic<const Table*> table_ = nullptr;
  std::atomic<int64_t> used_ = 0;
  std::atomic<int64_t> images_ = 0;
  std::atomic<bool> stopped_ = false;  // takes no more
  std::atomic<bool> full_noted_ = false;

  std::mutex mutex_;  // for all below
  std::optional<LargestImages> largest_;
  std::vector<std::unique_ptr<Table>> tables_;
  std::vector<Ref<Buffer>> buffers_;
  uint8_t* next_ = nullptr;  // free memory of the buffer that small images go to
  size_t left_ = 0;
};

}  // namespace headrace
