// Resampling of planes, streamed: what lies between the two passes is a few rows that stay in the cache.
#include "kernels/cpu/resample_planes.h"

#include <algorithm>

#include "kernels/cpu/resample_rows.h"

namespace headrace {
namespace {

// Floats of a piece of a row that is blended and stored before the next one.
constexpr int64_t kPiece = 4096;

// The work of one call: kernels, extents and row buffers.
class Worker {
 public:
  Worker(const ResamplePlanes& planes, Arena& arena);
  void run();

 private:
  void blend_plane();
  void vertical_first();
  void horizontal_first();

  // Writes rows [row, row + n) of the vertically resampled plane, columns that the horizontal pass reads, as floats.
  void blend_rows(int64_t row, int64_t n, float* to);
  // Filters `n` rows of `in` (in_stride_ apart) to rows of filtered_ (out_stride_ apart).
  void filter_rows(const float* in, int64_t n);
  bool vertical_is_cheaper() const;
  float* floats(int64_t n) { return arena_.allocate_array<float>(static_cast<size_t>(n + kResampleSlack)).data(); }
  const uint8_t* in_row(int64_t row) const { return in_ + static_cast<size_t>(row * in_row_) * in_size_; }
  uint8_t* out_row(int64_t row) const { return out_ + static_cast<size_t>(row * out_row_) * out_size_; }

  const ResamplePlanes& p_;
  Arena& arena_;
  const ResampleRowKernels kernels_;
  const ResampleTable* v_;
  const ResampleTable* h_;
  const size_t in_size_, out_size_;
  const int64_t out_rows_, in_row_, out_row_;  // rows and elements in a row
  const uint8_t* in_ = nullptr;                // the plane at hand
  uint8_t* out_ = nullptr;
  const void** taps_ = nullptr;  // rows that go into a sum
  int64_t block_ = 1;            // rows that are filtered together
  int64_t begin_ = 0;            // first element of a row that the horizontal pass reads
  int64_t width_ = 0;            // elements that it reads
  int64_t in_stride_ = 0, out_stride_ = 0;
  float* blended_ = nullptr;   // block_ rows in front of the horizontal pass
  float* filtered_ = nullptr;  // block_ rows behind it
  bool woven_ = false;         // filters interleaved rows
  float* woven_in_ = nullptr;  // the same, interleaved
  float* woven_out_ = nullptr;
};

Worker::Worker(const ResamplePlanes& planes, Arena& arena)
    : p_(planes),
      arena_(arena),
      kernels_(find_resample_kernels(p_.in_type, p_.out_type)),
      v_(planes.vertical),
      h_(planes.horizontal),
      in_size_(dtype_size(p_.in_type)),
      out_size_(dtype_size(p_.out_type)),
      out_rows_(v_ ? v_->out : p_.rows),
      in_row_(p_.columns * p_.channels),
      out_row_((h_ ? h_->out : p_.columns) * p_.channels) {
  check_internal(kernels_.blend_rows && kernels_.store_row, "resampling of {} to {}", dtype_name(p_.in_type),
                 dtype_name(p_.out_type));
  taps_ = arena.allocate_array<const void*>(static_cast<size_t>(v_ ? v_->taps : 1)).data();
  if (!h_) {
    blended_ = floats(kPiece);
    return;
  }
  // Planes of single values are filtered four rows at a time, interleaved to pixels of four; others in pairs of rows.
  woven_ = p_.channels == 1;
  block_ = woven_ ? kInterleavedRows : 2;
  begin_ = h_->begin * p_.channels;
  width_ = (h_->end - h_->begin) * p_.channels;
  in_stride_ = width_ + kResampleSlack;
  out_stride_ = out_row_ + kResampleSlack;
  blended_ = floats(block_ * in_stride_);
  filtered_ = floats(block_ * out_stride_);
  if (!woven_) return;
  woven_in_ = floats(block_ * width_);
  woven_out_ = floats(block_ * out_row_);
}

void Worker::run() {
  const bool vertical = !h_ || !v_ || vertical_is_cheaper();
  for (int64_t i = 0; i < p_.count; ++i) {
    in_ = static_cast<const uint8_t*>(p_.in) + static_cast<size_t>(i * p_.rows * in_row_) * in_size_;
    out_ = static_cast<uint8_t*>(p_.out) + static_cast<size_t>(i * out_rows_ * out_row_) * out_size_;
    if (!h_) {
      blend_plane();
    } else if (vertical) {
      vertical_first();
    } else {
      horizontal_first();
    }
  }
}

bool Worker::vertical_is_cheaper() const {
  constexpr int64_t kFilterCost = 3;  // of a tap along the row, in taps across rows
  // Of the whole axes: sums must not depend on what is in memory.
  const int64_t columns = h_->whole_span, rows = v_->whole_span;
  const int64_t vertical = v_->whole_out * (columns * v_->taps + h_->whole_out * h_->taps * kFilterCost);
  const int64_t horizontal = h_->whole_out * (rows * h_->taps * kFilterCost + v_->whole_out * v_->taps);
  return vertical <= horizontal;
}

void Worker::blend_rows(int64_t row, int64_t n, float* to) {
  constexpr float kOne = 1;
  for (int64_t r = row; r < row + n; ++r, to += in_stride_) {
    const int64_t first = v_ ? v_->first[r] : r;
    const int64_t taps = v_ ? v_->taps : 1;
    for (int64_t k = 0; k < taps; ++k) taps_[k] = in_row(first + k) + static_cast<size_t>(begin_) * in_size_;
    kernels_.blend_rows(taps_, v_ ? v_->weights + r * taps : &kOne, taps, to, width_);
  }
}

void Worker::filter_rows(const float* in, int64_t n) {
  if (!woven_) {
    if (n == 2) return kernels_.filter_pair(in, in_stride_, *h_, p_.channels, filtered_, out_stride_);
    if (n == 1) kernels_.filter_row(in, *h_, p_.channels, filtered_);
    return;
  }
  if (n == 0) return;
  kernels_.interleave_rows(in, in_stride_, woven_in_, width_);
  kernels_.filter_row(woven_in_, *h_, block_, woven_out_);
  kernels_.separate_rows(woven_out_, filtered_, out_stride_, out_row_);
}

void Worker::vertical_first() {
  for (int64_t row = 0; row < out_rows_; row += block_) {
    const int64_t n = std::min(block_, out_rows_ - row);
    blend_rows(row, n, blended_);
    filter_rows(blended_, n);
    for (int64_t r = 0; r < n; ++r) kernels_.store_row(filtered_ + r * out_stride_, out_row(row + r), out_row_);
  }
}

// Input rows are filtered once each, into a ring that holds those that an output row needs.
void Worker::horizontal_first() {
  constexpr float kOne = 1;
  const int64_t ring_rows = v_->taps + block_;
  float* ring = floats(ring_rows * out_stride_);
  float* sum = floats(out_row_);
  int64_t ready = v_->begin;  // rows before this one are filtered
  for (int64_t i = 0; i < v_->out; ++i) {
    const int64_t row = v_->mirrored ? v_->out - 1 - i : i;  // so that input rows come in order
    const int64_t first = v_->first[row];
    while (ready < first + v_->taps) {
      const int64_t n = std::min(block_, v_->end - ready);
      for (int64_t r = 0; r < n; ++r) {
        const void* from = in_row(ready + r) + static_cast<size_t>(begin_) * in_size_;
        kernels_.blend_rows(&from, &kOne, 1, blended_ + r * in_stride_, width_);
      }
      filter_rows(blended_, n);
      for (int64_t r = 0; r < n; ++r) {
        std::copy_n(filtered_ + r * out_stride_, out_row_, ring + (ready + r) % ring_rows * out_stride_);
      }
      ready += n;
    }
    for (int64_t k = 0; k < v_->taps; ++k) taps_[k] = ring + (first + k) % ring_rows * out_stride_;
    kernels_.blend_floats(taps_, v_->weights + row * v_->taps, v_->taps, sum, out_row_);
    kernels_.store_row(sum, out_row(row), out_row_);
  }
}

// Without a horizontal pass: piece by piece, or straight to an output of floats.
void Worker::blend_plane() {
  constexpr float kOne = 1;
  const bool direct = p_.out_type == DType::kFloat32;
  for (int64_t row = 0; row < out_rows_; ++row) {
    const int64_t first = v_ ? v_->first[row] : row;
    const int64_t taps = v_ ? v_->taps : 1;
    const float* weights = v_ ? v_->weights + row * taps : &kOne;
    const int64_t piece = direct ? in_row_ : kPiece;
    for (int64_t j = 0; j < in_row_; j += piece) {
      const int64_t n = std::min(piece, in_row_ - j);
      for (int64_t k = 0; k < taps; ++k) taps_[k] = in_row(first + k) + static_cast<size_t>(j) * in_size_;
      float* to = direct ? reinterpret_cast<float*>(out_row(row)) : blended_;
      kernels_.blend_rows(taps_, weights, taps, to, n);
      if (!direct) kernels_.store_row(blended_, out_row(row) + static_cast<size_t>(j) * out_size_, n);
    }
  }
}

}  // namespace

void resample_planes(const ResamplePlanes& planes, Arena& arena) { Worker(planes, arena).run(); }

}  // namespace headrace
