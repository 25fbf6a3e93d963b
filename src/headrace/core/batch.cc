// Batch: slots, from dense to ragged.
#include "core/batch.h"

#include <algorithm>
#include <cstring>

namespace headrace {
namespace {

size_t bytes_of(const Sample& sample) {
  const size_t item = dtype_size(sample.dtype);
  return static_cast<size_t>(checked_volume(sample.shape, item, "batch")) * item;
}

}  // namespace

Batch::Batch(Ref<HostPool> pool, int size, MemoryUse use, bool expect_ragged)
    : pool_(std::move(pool)), use_(use), expect_ragged_(expect_ragged), samples_(static_cast<size_t>(size)) {}

Batch::~Batch() {
  if (held_) pool_->count_held_batches(-1);
}

void Batch::mark_held() {
  if (!held_) pool_->count_held_batches(1);
  held_ = true;
}

void Batch::set_type(DType dtype, int ndim, const Layout& layout) {
  dtype_ = dtype;
  ndim_ = ndim;
  layout_ = layout;
}

void Batch::reserve(const Sample& description) {
  std::lock_guard lock(mutex_);
  if (reserved_.load(std::memory_order_relaxed)) return;
  set_type(description.dtype, description.shape.ndim(), description.layout);
  dense_shape_ = description.shape;
  dense_stride_ = bytes_of(description);
  size_t all = 0;
  if (__builtin_mul_overflow(dense_stride_, samples_.size(), &all)) all = SIZE_MAX;
  if (!expect_ragged_) dense_buffer_ = pool_->allocate(all, use_);
  reserved_.store(true, std::memory_order_release);
}

void Batch::check_same_kind(int slot, const Sample& description) {
  if (description.dtype == dtype_ && description.shape.ndim() == ndim_ && description.layout == layout_) return;
  disputed_ = true;
  check(description.dtype == dtype_, "sample {} has type {}, the samples before it {}; a batch holds one type", slot,
        dtype_name(description.dtype), dtype_name(dtype_));
  check(description.shape.ndim() == ndim_, "sample {} has shape {}, the samples before it have {} axes", slot,
        description.shape, ndim_);
  check(description.layout == layout_, "sample {} has layout \"{}\", the samples before it \"{}\"", slot,
        description.layout, layout_);
}

void* Batch::claim(int slot, const Sample& description) {
  if (!reserved_.load(std::memory_order_acquire)) reserve(description);
  check_same_kind(slot, description);
  Sample& sample = samples_[slot];
  sample.describe_as(description);
  if (dense_buffer_ && description.shape == dense_shape_) {
    sample.data = dense_buffer_->data() + dense_stride_ * static_cast<size_t>(slot);
    return sample.data;
  }
  Ref<Buffer> own = pool_->allocate(bytes_of(description), use_);
  sample.data = own->data();
  std::lock_guard lock(mutex_);
  buffers_.push_back(std::move(own));
  return sample.data;
}

void Batch::set_view(int slot, const Sample& sample, std::shared_ptr<const void> owner) {
  std::lock_guard lock(mutex_);
  if (!reserved_.load(std::memory_order_relaxed)) {
    set_type(sample.dtype, sample.shape.ndim(), sample.layout);
    reserved_.store(true, std::memory_order_release);
  }
  check_same_kind(slot, sample);
  samples_[slot] = sample;
  if (owner && (owners_.empty() || owners_.back() != owner)) owners_.push_back(std::move(owner));
}

void Batch::set_layout(const Layout& layout) {
  check_value(layout.empty() || layout.ndim() == ndim_, "layout \"{}\" has {} letters, the samples have {} axes",
              layout, layout.ndim(), ndim_);
  layout_ = layout;
  for (Sample& sample : samples_) sample.layout = layout;
}

bool Batch::is_uniform() const {
  for (const Sample& sample : samples_) {
    if (!(sample.shape == samples_[0].shape)) return false;
  }
  return true;
}

bool Batch::is_dense() const {
  if (!is_uniform()) return false;
  const size_t stride = samples_.empty() ? 0 : samples_[0].bytes();
  for (size_t i = 0; i < samples_.size(); ++i) {
    if (samples_[i].data != static_cast<uint8_t*>(samples_[0].data) + i * stride) return false;
  }
  return true;
}

void Batch::copy_to(uint8_t* to) const {
  if (is_dense()) {
    const size_t bytes = samples_.empty() ? 0 : samples_.size() * samples_[0].bytes();
    if (bytes > 0) std::memcpy(to, data(), bytes);
    return;
  }
  for (const Sample& sample : samples_) to = std::copy_n(sample.as<const uint8_t>(), sample.bytes(), to);
}

Ref<Batch> Batch::dense() {
  if (is_dense()) return Ref<Batch>(this);
  for (const Sample& sample : samples_) {
    check(
        sample.shape == samples_[0].shape,
        "the batch is ragged: its samples have different shapes, {} and {} among them; resize, crop or pad them to one",
        samples_[0].shape, sample.shape);
  }
  auto copy = make_ref<Batch>(pool_, size());
  for (int i = 0; i < size(); ++i) copy->claim(i, samples_[i]);
  copy_to(static_cast<uint8_t*>(copy->data()));
  copy->rows = rows;
  copy->keep_alive = keep_alive;
  return copy;
}

Ref<Batch> Batch::with_samples(std::vector<Sample> samples) const {
  auto view = make_ref<Batch>(pool_, static_cast<int>(samples.size()));
  view->set_type(dtype_, ndim_, layout_);
  for (const Sample& sample : samples) {
    if (!sample.present()) continue;
    view->set_type(sample.dtype, sample.shape.ndim(), sample.layout);
    break;
  }
  view->samples_ = std::move(samples);
  view->rows = rows;
  view->keep_alive = keep_alive;
  view->reserved_ = true;
  view->dense_buffer_ = dense_buffer_;
  view->buffers_ = buffers_;
  view->owners_ = owners_;
  return view;
}

}  // namespace headrace
