// Resampling of tensors: merges axes, then runs passes over one or two neighbouring axes at a time.
#include "kernels/cpu/resample.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/convert.h"
#include "kernels/cpu/resample_nearest.h"
#include "kernels/cpu/resample_planes.h"

namespace headrace {
namespace {

// Axes of the tensor, neighbours that are left alone merged into one.
struct Axes {
  std::array<ResampleAxis, Shape::kMaxDims> list;
  int n = 0;

  explicit Axes(std::span<const ResampleAxis> axes) {
    for (const ResampleAxis& axis : axes) {
      if (axis.is_identity() && n > 0 && list[static_cast<size_t>(n - 1)].is_identity()) {
        ResampleAxis& last = list[static_cast<size_t>(n - 1)];
        last.in *= axis.in;
        last.out = last.in;
      } else {
        list[static_cast<size_t>(n++)] = axis;
      }
    }
  }
  const ResampleAxis& operator[](int i) const { return list[static_cast<size_t>(i)]; }
  std::span<const ResampleAxis> span() const { return {list.data(), static_cast<size_t>(n)}; }
  // The last axis that is resampled, or -1.
  int last_resampled() const {
    int i = n - 1;
    while (i >= 0 && list[static_cast<size_t>(i)].is_identity()) --i;
    return i;
  }
};

// A tensor between two passes.
struct Stage {
  const void* data;
  DType type;
  std::array<int64_t, Shape::kMaxDims> extents;  // of the merged axes

  int64_t volume(int from, int to) const {
    int64_t v = 1;
    for (int i = from; i < to; ++i) v *= extents[static_cast<size_t>(i)];
    return v;
  }
};

class Passes {
 public:
  Passes(const Axes& axes, const Sample& in, const Sample& out, Arena& arena)
      : axes_(axes), out_(out), arena_(arena), stage_{in.data, in.dtype, {}} {
    for (int i = 0; i < axes.n; ++i) stage_.extents[static_cast<size_t>(i)] = axes[i].in;
  }

  // The innermost resampled axis, with its neighbour if that is resampled too, is the pass that is streamed; axes in
  // front of it take a pass each: before it where they shrink, behind it where they grow.
  void run() {
    const int last = axes_.last_resampled();
    const bool pair = last > 0 && !axes_[last - 1].is_identity();
    const int front = pair ? last - 1 : last;
    for (int i = 0; i < front; ++i) remaining_ += !axes_[i].is_identity();
    ++remaining_;
    for (int i = 0; i < front; ++i) {
      if (!axes_[i].is_identity() && axes_[i].out <= axes_[i].in) run_axis(i);
    }
    pair ? run_pair(last) : run_axis(last);
    for (int i = 0; i < front; ++i) {
      if (!axes_[i].is_identity() && axes_[i].out > axes_[i].in) run_axis(i);
    }
  }

 private:
  // Where pixels of an axis are this long, whole rows of them are blended.
  static constexpr int64_t kLongPixel = 16;

  void run_axis(int i) {
    const ResampleTable table = make_resample_table(axes_[i], arena_);
    ResamplePlanes planes;
    const int64_t outer = stage_.volume(0, i), inner = stage_.volume(i + 1, axes_.n);
    if (inner >= kLongPixel) {
      planes.count = outer;
      planes.rows = table.in;
      planes.columns = inner;
      planes.vertical = &table;
    } else {
      planes.rows = outer;
      planes.columns = table.in;
      planes.channels = inner;
      planes.horizontal = &table;
    }
    stage_.extents[static_cast<size_t>(i)] = table.out;
    run_pass(planes);
  }

  void run_pair(int last) {
    const ResampleTable vertical = make_resample_table(axes_[last - 1], arena_);
    const ResampleTable horizontal = make_resample_table(axes_[last], arena_);
    ResamplePlanes planes;
    planes.count = stage_.volume(0, last - 1);
    planes.rows = vertical.in;
    planes.columns = horizontal.in;
    planes.channels = stage_.volume(last + 1, axes_.n);
    planes.vertical = &vertical;
    planes.horizontal = &horizontal;
    stage_.extents[static_cast<size_t>(last - 1)] = vertical.out;
    stage_.extents[static_cast<size_t>(last)] = horizontal.out;
    run_pass(planes);
  }

  // From the stage to the next one: to the output, if nothing remains.
  void run_pass(ResamplePlanes& planes) {
    const bool done = --remaining_ == 0;
    planes.in = stage_.data;
    planes.in_type = stage_.type;
    planes.out_type = done ? out_.dtype : DType::kFloat32;
    planes.out = done ? out_.data : arena_.allocate_array<float>(static_cast<size_t>(stage_.volume(0, axes_.n))).data();
    resample_planes(planes, arena_);
    stage_.data = planes.out;
    stage_.type = planes.out_type;
  }

  const Axes& axes_;
  const Sample& out_;
  Arena& arena_;
  Stage stage_;
  int remaining_ = 0;
};

}  // namespace

void resample(const Sample& in, std::span<const ResampleAxis> axes, const Sample& out, Arena& arena) {
  if (out.volume() == 0) return;
  const Axes merged(axes);
  bool nearest = true;
  for (const ResampleAxis& axis : merged.span()) {
    check(axis.is_identity() || (axis.in <= INT32_MAX && axis.out <= INT32_MAX),
          "resampling: expected extents below 2^31, got {} -> {}", axis.in, axis.out);
    nearest &= axis.is_identity() || axis.filter == ResampleFilter::kNearest;
  }
  if (merged.last_resampled() < 0) {
    convert_array(in.data, in.dtype, out.data, out.dtype, out.volume());
  } else if (nearest) {
    resample_nearest(in, merged.span(), out, arena);
  } else {
    Passes(merged, in, out, arena).run();
  }
}

}  // namespace headrace
