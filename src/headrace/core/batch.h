// Batch: the samples of one iteration and one output, dense when their shapes agree, ragged when they don't.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "core/host_pool.h"
#include "core/sample.h"

namespace headrace {

// How a row of a batch came about. Everything but kGood is flagged in the mask that iterators can yield.
enum class RowStatus : uint8_t { kGood, kSubstituted, kZeroed, kPadded };

// What all outputs of an iteration share: who their rows are, and how each came about.
struct BatchRows final : RefCounted {
  std::vector<SampleId> ids;
  std::vector<RowStatus> status;
};

// Written by several workers at once, a slot each; read when complete. Dtype, number of axes and layout are those of
// the first sample that is claimed; a sample that differs in them is an error.
//
// Note [optimistically dense]: the first claim reserves one buffer for the whole batch, exactly packed; slots of equal
// shape lie in it in order. A sample of another shape gets a buffer of its own and the batch is ragged from then on;
// nothing is done twice. `expect_ragged` skips the reservation where the last batch was ragged.
class Batch final : public RefCounted {
 public:
  Batch(Ref<HostPool> pool, int size, MemoryUse use = MemoryUse::kSlots, bool expect_ragged = false);

  // Memory for the sample in `slot`, uninitialised; type, shape, layout and source are taken from `description`.
  void* claim(int slot, const Sample& description);
  // Puts a sample that lives elsewhere into `slot`; `owner` keeps its memory alive.
  void set_view(int slot, const Sample& sample, std::shared_ptr<const void> owner);
  // Takes the sample out of `slot` again: it was refused after its memory had been claimed.
  void forget(int slot) { samples_[slot] = Sample(); }
  // A sample was refused because another had fixed another type, number of axes or layout before.
  bool is_disputed() const { return disputed_; }
  // A slot has a sample: false for a row that failed, or that a conditional left out.
  bool has(int slot) const { return samples_[slot].present(); }

  int size() const { return static_cast<int>(samples_.size()); }
  DType dtype() const { return dtype_; }
  int ndim() const { return ndim_; }
  const Layout& layout() const { return layout_; }
  void set_layout(const Layout& layout);
  // Element type and axes of a batch that may have no samples.
  void set_type(DType dtype, int ndim, const Layout& layout);
  const Sample& operator[](int slot) const { return samples_[slot]; }

  // All shapes are equal and the samples lie one behind the other from data() on.
  bool is_dense() const;
  // All shapes are equal, wherever the samples lie.
  bool is_uniform() const;
  // First byte of a dense batch, 64-byte aligned if headrace allocated it; null if empty.
  void* data() const { return samples_.empty() ? nullptr : samples_[0].data; }
  // All samples, one behind the other.
  void copy_to(uint8_t* to) const;
  // This batch if it is dense, else a copy that is. Shapes must agree.
  Ref<Batch> dense();
  // A batch of samples of this one: other rows, shapes of equal volume, another type or layout. Shares the memory.
  Ref<Batch> with_samples(std::vector<Sample> samples) const;

  Ref<BatchRows> rows;                     // null for batches that no pipeline made
  std::shared_ptr<const void> keep_alive;  // the operators whose names and mappings samples point to

  // Tells the pool that the program, and no longer the engine, holds this batch.
  void mark_held();

 private:
  ~Batch() override;
  void reserve(const Sample& description);
  void check_same_kind(int slot, const Sample& description);

  Ref<HostPool> pool_;
  const MemoryUse use_;
  const bool expect_ragged_;
  bool held_ = false;
  std::vector<Sample> samples_;
  DType dtype_ = DType::kNone;
  int ndim_ = 0;
  Layout layout_;
  Shape dense_shape_;
  size_t dense_stride_ = 0;
  std::atomic<bool> reserved_{false};
  std::atomic<bool> disputed_{false};
  std::mutex mutex_;  // the first claim, and the lists below
  Ref<Buffer> dense_buffer_;
  std::vector<Ref<Buffer>> buffers_;
  std::vector<std::shared_ptr<const void>> owners_;
};

}  // namespace headrace
