// Reference counting inside the object: RefCounted is the base, Ref<T> the pointer.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace headrace {

// Starts with no owner; the last Ref to let go calls dispose(), which deletes by default. Counting touches no state
// but the object's own, so a Ref may be dropped on any thread, also while the process ends.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void add_ref() const noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) const_cast<RefCounted*>(this)->dispose();
  }

 protected:
  virtual ~RefCounted() = default;
  virtual void dispose() noexcept { delete this; }

 private:
  mutable std::atomic<int64_t> count_{0};
};

template <typename T> class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* object) : object_(object) {
    if (object_) object_->add_ref();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <typename U> Ref(const Ref<U>& other) : Ref(other.get()) {}
  ~Ref() { reset(); }
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  void reset() noexcept {
    if (T* object = std::exchange(object_, nullptr)) object->release();
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

template <typename T, typename... Args> Ref<T> make_ref(Args&&... args) {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

}  // namespace headrace
