// EntropyIndexStore: the entropy indexes of the JPEG files that were decoded in part, within a limit of memory.
//
// Note [entropy index]: in a later epoch a crop of a photo begins where its rows and columns begin, instead of passing
// over all symbols before them, which is a good part of the work. Files are known by their fingerprints, as in Note
// [decoded cache]: an index never meets another file. What is there stays; when the limit is reached, later files go
// without.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "codecs/entropy_index.h"
#include "core/fingerprint.h"
#include "graph/group_state.h"

namespace headrace {

// Shared by all image decoders of a group. Thread safe.
class EntropyIndexStore final : public SharedObject {
 public:
  // `group` owns it. `limit` in bytes.
  EntropyIndexStore(GroupState& group, int64_t limit) : group_(group), limit_(limit) {}

  // What is known of the file with this fingerprint. Valid until close().
  std::span<const EntropyPoint> find(const Fingerprint& key) const;
  // Keeps the points found behind those that find() gave, if there is room and another thread didn't do so already.
  void add(const Fingerprint& key, const EntropyIndex& index);

  int64_t images() const { return images_.load(std::memory_order_relaxed); }
  int64_t bytes() const { return used_.load(std::memory_order_relaxed); }

  void close() override;

 private:
  // Points behind `count` are free: a thread that has the first ones is not disturbed by what is added.
  struct Entry {
    EntropyPoint* points = nullptr;
    size_t count = 0;
  };

  EntropyPoint* allocate(size_t points);

  GroupState& group_;
  const int64_t limit_;
  std::atomic<int64_t> images_ = 0;
  std::atomic<int64_t> used_ = 0;

  mutable std::mutex mutex_;  // for all below
  std::unordered_map<Fingerprint, Entry, FingerprintHash> entries_;
  std::vector<Ref<Buffer>> buffers_;
  EntropyPoint* next_ = nullptr;  // free points of the last buffer
  size_t left_ = 0;
};

}  // namespace headrace
