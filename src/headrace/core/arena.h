// Arena: bump allocation for the intermediates of one sample; reset after each sample, grows to the largest need.
#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "core/host_pool.h"

namespace headrace {

// One worker's scratch memory. Not thread safe.
class Arena {
 public:
  explicit Arena(Ref<HostPool> pool) : pool_(std::move(pool)) {}

  // `bytes` bytes, 64-byte aligned, uninitialised, valid until reset().
  void* allocate(size_t bytes) {
    const size_t rounded = (bytes + 63) & ~size_t{63};
    if (rounded > available_) [[unlikely]]
      grow(rounded);
    void* memory = next_;
    next_ += rounded;
    available_ -= rounded;
    return memory;
  }

  // An array of `count` values; T has no destructor to call.
  template <typename T> std::span<T> allocate_array(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    T* first = static_cast<T*>(allocate(count * sizeof(T)));
    for (size_t i = 0; i < count; ++i) new (first + i) T;
    return {first, count};
  }

  // Forgets everything. When several blocks were needed, the next sample finds one that holds them all.
  void reset();

 private:
  void grow(size_t bytes);

  Ref<HostPool> pool_;
  std::vector<Ref<Buffer>> blocks_;
  uint8_t* next_ = nullptr;
  size_t available_ = 0;
};

}  // namespace headrace
