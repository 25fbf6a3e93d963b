// GroupState: what the operators of all plans of a group share: memory, objects by name, messages for the log.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/host_pool.h"
#include "core/log.h"

namespace headrace {

// Something that operators share, a cache for instance. Batches keep operators alive; close() comes earlier.
class SharedObject {
 public:
  virtual ~SharedObject() = default;
  // Gives its memory back: no operator runs any more.
  virtual void close() {}
};

class GroupState {
 public:
  // `decoder_index_memory`: most bytes for what decoders remember of files, 0 for nothing.
  explicit GroupState(Ref<HostPool> pool, int64_t decoder_index_memory = 0)
      : pool_(std::move(pool)), decoder_index_memory_(decoder_index_memory) {}

  const Ref<HostPool>& pool() const { return pool_; }
  int64_t decoder_index_memory() const { return decoder_index_memory_; }

  // Memory for a cache; null when memory_limit leaves no room. Batches come first: what they and the scratch memory
  // take at present has to fit twice.
  Ref<Buffer> allocate_cache(size_t bytes) {
    const size_t caches = pool_->bytes_in_use(MemoryUse::kCaches), others = pool_->bytes_in_use() - caches;
    if (pool_->limit() != 0 && caches + bytes + 2 * others > pool_->limit()) return nullptr;
    try {
      return pool_->allocate(bytes, MemoryUse::kCaches);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kMemory) throw;
      return nullptr;
    }
  }

  // The object of type T by that name, which `make()` makes for the first operator that asks. For constructors of
  // operators, which run one after the other.
  template <typename T, typename Make> std::shared_ptr<T> share(const std::string& name, Make make) {
    std::shared_ptr<SharedObject>& object = objects_[name];
    if (!object) object = make();
    auto typed = std::dynamic_pointer_cast<T>(object);
    check_internal(typed != nullptr, "the shared object \"{}\" is of another type", name);
    return typed;
  }

  // A message for the log, from any thread: log_notes() hands it on, as workers must not call into a program's log.
  void note(LogLevel level, std::string message) {
    const std::lock_guard lock(mutex_);
    notes_.emplace_back(level, std::move(message));
    has_notes_ = true;
  }
  // On the thread that takes batches.
  void log_notes() {
    if (!has_notes_.load(std::memory_order_relaxed)) return;
    std::vector<std::pair<LogLevel, std::string>> notes;
    {
      const std::lock_guard lock(mutex_);
      notes.swap(notes_);
      has_notes_ = false;
    }
    for (const auto& [level, message] : notes) log(level, message);
  }

  void close() {
    for (auto& [name, object] : objects_) object->close();
  }

 private:
  const Ref<HostPool> pool_;
  const int64_t decoder_index_memory_;
  std::map<std::string, std::shared_ptr<SharedObject>> objects_;
  std::mutex mutex_;  // notes_
  std::vector<std::pair<LogLevel, std::string>> notes_;
  std::atomic<bool> has_notes_ = false;
};

}  // namespace headrace
