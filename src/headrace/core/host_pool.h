// Host memory: reference-counted buffers from a pool with size classes, a limit and accounting by purpose.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/ref.h"

namespace headrace {

class HostPool;

// What memory is for. The limit counts the sum; messages and statistics show the parts.
enum class MemoryUse : uint8_t { kSlots, kArenas, kCaches, kCount };

// A block of host memory, 64-byte aligned. It goes back to its pool when the last Ref lets go, on whatever thread.
class Buffer final : public RefCounted {
 public:
  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  friend class HostPool;
  Buffer() = default;
  void dispose() noexcept override;

  uint8_t* data_ = nullptr;
  size_t size_ = 0;  // usable bytes: the size class
  int size_class_ = 0;
  MemoryUse use_ = MemoryUse::kSlots;
  Ref<HostPool> pool_;  // only while the buffer is in use, so that an idle pool can die
};

// Keeps freed buffers by size class and hands them out again: no malloc in the steady state. Thread safe.
class HostPool final : public RefCounted {
 public:
  static constexpr size_t kAlignment = 64;

  // `limit`: most bytes that may be taken from the system at a time, idle blocks included; 0 means no limit.
  explicit HostPool(size_t limit = 0) : limit_(limit) {}

  // Memory for at least `bytes` bytes, uninitialised. Near the limit idle blocks are given back first; over it: kMemory
  // error that says what holds the memory.
  Ref<Buffer> allocate(size_t bytes, MemoryUse use);

  // Gives idle memory back to the system; buffers released from now on are freed at once.
  void close();

  size_t limit() const { return limit_; }
  size_t bytes_in_use() const;
  size_t bytes_in_use(MemoryUse use) const { return in_use_[static_cast<int>(use)].load(std::memory_order_relaxed); }
  size_t bytes_idle() const { return idle_bytes_.load(std::memory_order_relaxed); }
  // Calls to the system allocator so far: constant in the steady state.
  int64_t system_allocations() const { return system_allocations_.load(std::memory_order_relaxed); }

  // Batches that the user holds, for the message of an exceeded limit.
  void count_held_batches(int change) { held_batches_.fetch_add(change, std::memory_order_relaxed); }
  int64_t held_batches() const { return held_batches_.load(std::memory_order_relaxed); }

 private:
  friend class Buffer;
  static constexpr int kClasses = 4 * 48;
  ~HostPool() override { close(); }
  Buffer* take_idle(int size_class);
  bool reserve(size_t bytes);
  Buffer* new_block(size_t bytes, int size_class);
  void take_back(Buffer* buffer) noexcept;
  static void free_block(Buffer* buffer) noexcept;

  const size_t limit_;
  std::mutex mutex_;
  bool closed_ = false;
  std::array<std::vector<Buffer*>, kClasses> idle_;
  size_t reserved_ = 0;  // bytes of all blocks, in use or idle
  std::atomic<size_t> idle_bytes_{0};
  std::array<std::atomic<size_t>, static_cast<int>(MemoryUse::kCount)> in_use_{};
  std::atomic<int64_t> system_allocations_{0};
  std::atomic<int64_t> held_batches_{0};
};

}  // namespace headrace
