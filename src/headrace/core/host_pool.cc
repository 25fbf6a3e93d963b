// Host memory pool. A block is [Buffer object | payload], so that handing out a buffer allocates nothing.
#include "core/host_pool.h"

#include <bit>
#include <cstdlib>
#include <new>

#include "core/error.h"

namespace headrace {
namespace {

constexpr size_t kHeaderBytes =
    (sizeof(Buffer) + HostPool::kAlignment - 1) / HostPool::kAlignment * HostPool::kAlignment;

// Four classes to an octave: at most 25 % of a block is unused. Class c holds (4 + c % 4) << (c / 4 + 4) bytes.
int size_class(size_t bytes) {
  const size_t units = bytes <= 64 ? 1 : (bytes + 63) / 64;
  const int top = static_cast<int>(std::bit_width(units)) - 1;
  if (top < 2) return static_cast<int>(units - 1);  // 64, 128, 192 bytes
  const int shift = top - 2;
  const size_t mantissa = (units + (size_t{1} << shift) - 1) >> shift;  // 4..8
  return static_cast<int>(3 + shift * 4 + (mantissa - 4));
}

size_t class_bytes(int size_class) {
  if (size_class < 3) return 64 * static_cast<size_t>(size_class + 1);
  const int shift = (size_class - 3) / 4;
  return 64 * (static_cast<size_t>(4 + (size_class - 3) % 4) << shift);
}

}  // namespace

void Buffer::dispose() noexcept {
  Ref<HostPool> pool = std::move(pool_);
  pool->take_back(this);
}

Ref<Buffer> HostPool::allocate(size_t bytes, MemoryUse use) {
  if (bytes >= size_t{1} << 50) fail(ErrorKind::kMemory, "memory: no system has {} bytes", bytes);
  const int cls = size_class(bytes);
  const size_t size = class_bytes(cls);
  Buffer* buffer = take_idle(cls);
  if (!buffer) {
    if (!reserve(size)) {
      fail(ErrorKind::kMemory,
           "memory_limit: {} bytes are needed, {} of {} are in use (batches {}, scratch {}, caches {}), {} batches are "
           "held by the "
           "program; let go of batches, reduce batch_size or raise memory_limit",
           size, bytes_in_use(), limit_, bytes_in_use(MemoryUse::kSlots), bytes_in_use(MemoryUse::kArenas),
           bytes_in_use(MemoryUse::kCaches), held_batches());
    }
    buffer = new_block(size, cls);
  }
  buffer->use_ = use;
  buffer->pool_ = Ref<HostPool>(this);
  in_use_[static_cast<int>(use)].fetch_add(size, std::memory_order_relaxed);
  return Ref<Buffer>(buffer);
}

Buffer* HostPool::take_idle(int size_class) {
  const std::lock_guard lock(mutex_);
  if (idle_[size_class].empty()) return nullptr;
  Buffer* buffer = idle_[size_class].back();
  idle_[size_class].pop_back();
  idle_bytes_.fetch_sub(buffer->size_, std::memory_order_relaxed);
  return buffer;
}

// Counts a block that is about to be taken from the system, after giving idle ones back if the limit asks for it.
bool HostPool::reserve(size_t bytes) {
  const std::lock_guard lock(mutex_);
  for (int cls = kClasses - 1; limit_ != 0 && reserved_ + bytes > limit_ && cls >= 0; --cls) {
    while (!idle_[cls].empty() && reserved_ + bytes > limit_) {
      Buffer* buffer = idle_[cls].back();
      idle_[cls].pop_back();
      idle_bytes_.fetch_sub(buffer->size_, std::memory_order_relaxed);
      reserved_ -= buffer->size_;
      free_block(buffer);
    }
  }
  if (limit_ != 0 && reserved_ + bytes > limit_) return false;
  reserved_ += bytes;
  return true;
}

Buffer* HostPool::new_block(size_t bytes, int size_class) {
  void* block = std::aligned_alloc(kAlignment, kHeaderBytes + bytes);
  if (!block) {
    {
      const std::lock_guard lock(mutex_);
      reserved_ -= bytes;
    }
    fail(ErrorKind::kMemory, "memory: the system has no {} bytes left", bytes);
  }
  system_allocations_.fetch_add(1, std::memory_order_relaxed);
  auto* buffer = new (block) Buffer();
  buffer->data_ = static_cast<uint8_t*>(block) + kHeaderBytes;
  buffer->size_ = bytes;
  buffer->size_class_ = size_class;
  return buffer;
}

void HostPool::take_back(Buffer* buffer) noexcept {
  in_use_[static_cast<int>(buffer->use_)].fetch_sub(buffer->size_, std::memory_order_relaxed);
  {
    std::lock_guard lock(mutex_);
    if (!closed_) {
      idle_[buffer->size_class_].push_back(buffer);
      idle_bytes_.fetch_add(buffer->size_, std::memory_order_relaxed);
      return;
    }
    reserved_ -= buffer->size_;
  }
  free_block(buffer);
}

void HostPool::free_block(Buffer* buffer) noexcept {
  buffer->~Buffer();
  std::free(buffer);
}

void HostPool::close() {
  std::array<std::vector<Buffer*>, kClasses> idle;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    std::swap(idle, idle_);
    reserved_ -= idle_bytes_.exchange(0);
  }
  for (auto& buffers : idle) {
    for (Buffer* buffer : buffers) free_block(buffer);
  }
}

size_t HostPool::bytes_in_use() const {
  size_t sum = 0;
  for (const auto& bytes : in_use_) sum += bytes.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace headrace
