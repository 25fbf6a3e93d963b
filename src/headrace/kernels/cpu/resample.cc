// Resampling of tensors: merges axes, then runs passes over one or two neighbouring axes at a time.
#include "kernels/cpu/resample.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/convert.h"
#include "kernels/cpu/resample_nearest.h"
#include "kernels/cpu/resample_planes.h"
#include "kernels/cpu/strided_copy.h"

namespace headrace {
namespace {

// Axes of the tensor, neighbours that are left alone merged into one.
class Axes {
 public:
  // Axes that are left alone have the same elements in memory, in and out.
  Axes(std::span<const ResampleAxis> axes, const Sample& in, const Sample& out) {
    const Shape in_stored = in.stored_shape(), out_stored = out.stored_shape();
    for (size_t i = 0; i < axes.size(); ++i) {
      const int axis = static_cast<int>(i);
      if (axes[i].is_identity()) {
        append_identity(in_stored[axis]);
        continue;
      }
      AxisWindow& window = list_[static_cast<size_t>(n_++)] = axes[i];
      window.in = in_stored[axis];
      window.out = out_stored[axis];
      if (in.region) window.in_begin = in.region->begin[axis];
      if (out.region) window.out_begin = out.region->begin[axis];
    }
  }
  int n() const { return n_; }
  const AxisWindow& operator[](int i) const { return list_[static_cast<size_t>(i)]; }
  std::span<const AxisWindow> span() const { return {list_.data(), static_cast<size_t>(n_)}; }
  bool is_identity(int i) const { return (*this)[i].axis.is_identity(); }
  // Resampled to fewer elements, or as many.
  bool shrinks(int i) const { return (*this)[i].axis.out <= (*this)[i].axis.in; }
  // The last axis that is resampled, or -1.
  int last_resampled() const {
    int i = n_ - 1;
    while (i >= 0 && is_identity(i)) --i;
    return i;
  }

 private:
  void append_identity(int64_t extent) {
    if (n_ > 0 && is_identity(n_ - 1)) extent *= list_[static_cast<size_t>(--n_)].in;
    list_[static_cast<size_t>(n_++)] = ResampleAxis{.in = extent, .out = extent};
  }

  std::array<AxisWindow, Shape::kMaxDims> list_;
  int n_ = 0;
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
    for (int i = 0; i < axes.n(); ++i) stage_.extents[static_cast<size_t>(i)] = axes[i].in;
  }

  // The innermost resampled axis, with its neighbour if that is resampled too, is the pass that is streamed; axes in
  // front of it take a pass each: before it where they shrink, behind it where they grow.
  void run() {
    const int last = axes_.last_resampled();
    const bool pair = last > 0 && !axes_.is_identity(last - 1);
    const int front = pair ? last - 1 : last;
    for (int i = 0; i < front; ++i) remaining_ += !axes_.is_identity(i);
    ++remaining_;
    for (int i = 0; i < front; ++i) {
      if (!axes_.is_identity(i) && axes_.shrinks(i)) run_axis(i);
    }
    pair ? run_pair(last) : run_axis(last);
    for (int i = 0; i < front; ++i) {
      if (!axes_.is_identity(i) && !axes_.shrinks(i)) run_axis(i);
    }
  }

 private:
  // Where pixels of an axis are this long, whole rows of them are blended.
  static constexpr int64_t kLongPixel = 16;

  void run_axis(int i) {
    const ResampleTable table = make_resample_table(axes_[i], arena_);
    ResamplePlanes planes;
    const int64_t outer = stage_.volume(0, i), inner = stage_.volume(i + 1, axes_.n());
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
    planes.channels = stage_.volume(last + 1, axes_.n());
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
    planes.out =
        done ? out_.data : arena_.allocate_array<float>(static_cast<size_t>(stage_.volume(0, axes_.n()))).data();
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

// The input, along axes that are left alone no more of it than the output's region. `region` is room for that box.
Sample cut_identities(const Sample& in, std::span<const ResampleAxis> axes, const Sample& out, Region& region,
                      Arena& arena) {
  region = in.region ? *in.region : Region::whole(in.shape);
  const Region wanted = out.region ? *out.region : Region::whole(out.shape);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = static_cast<int>(i);
    if (!axes[i].is_identity()) continue;
    region.begin[axis] = wanted.begin[axis];
    region.end[axis] = wanted.end[axis];
  }
  Sample cut = in;
  if (region.extent() == in.stored_shape()) return cut;
  const Shape stored = in.stored_shape();
  std::array<int64_t, Shape::kMaxDims> strides{};
  int64_t stride = 1, offset = 0;
  for (int i = in.shape.ndim() - 1; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = stride;
    offset += region.begin[i] * stride;
    stride *= stored[i];
  }
  const size_t size = dtype_size(in.dtype);
  cut.region = &region;
  cut.data = arena.allocate(static_cast<size_t>(region.extent().volume()) * size);
  strided_copy(in.origin() + offset * static_cast<int64_t>(size),
               std::span(strides).first(static_cast<size_t>(in.shape.ndim())), cut.data, region.extent(), size);
  return cut;
}

}  // namespace

void resample(const Sample& whole, std::span<const ResampleAxis> axes, const Sample& out, Arena& arena) {
  const int64_t volume = out.stored_shape().volume();
  if (volume == 0) return;
  Region region;
  const Sample in = cut_identities(whole, axes, out, region, arena);
  const Axes merged(axes, in, out);
  bool nearest = true;
  for (const AxisWindow& window : merged.span()) {
    const ResampleAxis& axis = window.axis;
    check(axis.is_identity() || (axis.in <= INT32_MAX && axis.out <= INT32_MAX),
          "resampling: expected extents below 2^31, got {} -> {}", axis.in, axis.out);
    nearest &= axis.is_identity() || axis.filter == ResampleFilter::kNearest;
  }
  if (merged.last_resampled() < 0) {
    convert_array(in.data, in.dtype, out.data, out.dtype, volume);
  } else if (nearest) {
    resample_nearest(in, merged.span(), out, arena);
  } else {
    Passes(merged, in, out, arena).run();
  }
}

}  // namespace headrace
