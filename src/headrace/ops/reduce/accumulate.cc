// Accumulation over axes: merged axes, lanes.
#include "ops/reduce/accumulate.h"

#include <algorithm>
#include <limits>

#include "ops/reduce/accumulate_kernel.h"

namespace headrace {
namespace {

bool is_extreme(Reduction reduction) { return reduction == Reduction::kMin || reduction == Reduction::kMax; }

AccumulateKernel find_kernel(Reduction reduction, DType input) {
  if (reduction == Reduction::kSum || reduction == Reduction::kRealSum) return sum_kernel(reduction, input);
  return is_extreme(reduction) ? extreme_kernel(reduction, input) : square_kernel(reduction, input);
}

// Neighbouring axes of one kind, merged. Axes of extent 1 are left out.
struct Group {
  int64_t extent;
  int64_t stride;              // in elements of the input
  int64_t accumulator_stride;  // 0: reduced
};

struct Groups {
  int count = 0;
  Group groups[Shape::kMaxDims];  // innermost first
};

Groups merge(const Shape& shape, AxisSet reduced) {
  Groups merged;
  int64_t stride = 1, kept = 1;
  bool last_reduced = false;
  for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
    if (shape[axis] == 1) continue;
    const bool is_reduced = reduced >> axis & 1;
    if (merged.count == 0 || is_reduced != last_reduced) {
      merged.groups[merged.count++] = {1, stride, is_reduced ? 0 : kept};
    }
    merged.groups[merged.count - 1].extent *= shape[axis];
    stride *= shape[axis];
    if (!is_reduced) kept *= shape[axis];
    last_reduced = is_reduced;
  }
  return merged;
}

// Accumulates the elements of one tensor.
//
// Note [lanes]: rows that are shorter than kLaneWidth, as those of an image's channels, leave a vector unit idle, and
// each addition waits for the last. Where there are many of them, several rows are taken for one longer one, with
// accumulators of its own, and these are added up in the end.
class Accumulation {
 public:
  Accumulation(Reduction reduction, const Sample& in, AxisSet reduced, const float* means, void* accumulators,
               Arena& arena)
      : reduction_(reduction),
        input_(in.dtype),
        kernel_(find_kernel(reduction, in.dtype)),
        input_size_(dtype_size(in.dtype)),
        accumulator_size_(dtype_size(accumulator_type(reduction, in.dtype))),
        means_(means),
        accumulators_(static_cast<uint8_t*>(accumulators)),
        arena_(arena),
        merged_(merge(in.shape, reduced)) {}

  void run(const void* data) {
    int inner = 0;
    RowBlocks rows;
    if (inner < merged_.count && merged_.groups[inner].accumulator_stride != 0)
      rows.width = merged_.groups[inner++].extent;
    if (inner < merged_.count) rows.rows = merged_.groups[inner++].extent;
    const bool lanes = rows.width < kLaneWidth && rows.rows * rows.width >= 4 * kLaneWidth;
    if (lanes) make_lanes(rows);
    if (!lanes && inner < merged_.count) {
      const Group& blocks = merged_.groups[inner++];
      rows.blocks = blocks.extent;
      rows.block_stride = blocks.stride;
      rows.accumulator_stride = blocks.accumulator_stride;
    }
    walk(merged_.count - 1, inner, static_cast<const uint8_t*>(data), 0, rows, lanes);
  }

 private:
  static constexpr int64_t kLaneWidth = 64;

  void make_lanes(const RowBlocks& rows) {
    lane_count_ = kLaneWidth / rows.width;
    lanes_ = arena_.allocate(static_cast<size_t>(lane_count_ * rows.width) * accumulator_size_);
    lane_means_ = means_ ? arena_.allocate_array<float>(static_cast<size_t>(lane_count_ * rows.width)).data() : nullptr;
  }

  // Loops over the groups from `group` (outermost) down to `inner`, then accumulates.
  void walk(int group, int inner, const uint8_t* data, int64_t accumulator, const RowBlocks& rows, bool lanes) {
    if (group < inner) {
      if (lanes)
        add_in_lanes(data, accumulator, rows);
      else
        kernel_(data, rows, means_ ? means_ + accumulator : nullptr, at(accumulator));
      return;
    }
    const Group& g = merged_.groups[group];
    for (int64_t i = 0; i < g.extent; ++i) {
      walk(group - 1, inner, data + static_cast<size_t>(i * g.stride) * input_size_,
           accumulator + i * g.accumulator_stride, rows, lanes);
    }
  }

  void add_in_lanes(const uint8_t* data, int64_t accumulator, const RowBlocks& rows) {
    clear_accumulators(reduction_, input_, lane_count_ * rows.width, lanes_);
    for (int64_t i = 0; means_ && i < lane_count_ * rows.width; ++i)
      lane_means_[i] = means_[accumulator + i % rows.width];
    const RowBlocks whole{.rows = rows.rows / lane_count_, .width = lane_count_ * rows.width};
    kernel_(data, whole, lane_means_, lanes_);
    const uint8_t* rest = data + static_cast<size_t>(whole.rows * whole.width) * input_size_;
    kernel_(rest, {.width = rows.rows % lane_count_ * rows.width}, lane_means_, lanes_);
    // Lanes hold sums, also of squares: they are joined as what they are.
    const DType type = accumulator_type(reduction_, input_);
    const Reduction join = is_extreme(reduction_) ? reduction_ : Reduction::kSum;
    const RowBlocks all{.rows = lane_count_, .width = rows.width};
    if (type == DType::kFloat64)
      add_doubles(static_cast<const double*>(lanes_), all, accumulator);
    else
      find_kernel(join, type)(lanes_, all, nullptr, at(accumulator));
  }

  void add_doubles(const double* lanes, const RowBlocks& rows, int64_t accumulator) {
    auto* to = reinterpret_cast<double*>(at(accumulator));
    for (int64_t lane = 0; lane < rows.rows; ++lane) {
      for (int64_t i = 0; i < rows.width; ++i) to[i] += lanes[lane * rows.width + i];
    }
  }

  uint8_t* at(int64_t accumulator) const {
    return accumulators_ + static_cast<size_t>(accumulator) * accumulator_size_;
  }

  const Reduction reduction_;
  const DType input_;
  const AccumulateKernel kernel_;
  const size_t input_size_;
  const size_t accumulator_size_;
  const float* const means_;
  uint8_t* const accumulators_;
  Arena& arena_;
  const Groups merged_;
  int64_t lane_count_ = 0;
  void* lanes_ = nullptr;
  float* lane_means_ = nullptr;
};

template <typename T> T far_end(Reduction reduction) {
  using Limits = std::numeric_limits<T>;
  if constexpr (Limits::has_infinity) return reduction == Reduction::kMin ? Limits::infinity() : -Limits::infinity();
  return reduction == Reduction::kMin ? Limits::max() : Limits::lowest();
}

}  // namespace

DType accumulator_type(Reduction reduction, DType input) {
  if (is_extreme(reduction)) return input;
  if (reduction != Reduction::kSum || is_floating(input)) return DType::kFloat64;
  return is_signed(input) ? DType::kInt64 : DType::kUInt64;
}

void clear_accumulators(Reduction reduction, DType input, int64_t count, void* accumulators) {
  if (!is_extreme(reduction)) {
    const size_t bytes = static_cast<size_t>(count) * dtype_size(accumulator_type(reduction, input));
    std::fill_n(static_cast<uint8_t*>(accumulators), bytes, uint8_t{0});
  } else {
    visit_dtype(input, ReducibleTypes(), "[reductions] input",
                [&]<typename T>() { std::fill_n(static_cast<T*>(accumulators), count, far_end<T>(reduction)); });
  }
}

void* make_accumulators(Reduction reduction, DType input, int64_t count, Arena& arena) {
  void* accumulators = arena.allocate(static_cast<size_t>(count) * dtype_size(accumulator_type(reduction, input)));
  clear_accumulators(reduction, input, count, accumulators);
  return accumulators;
}

void accumulate(Reduction reduction, const Sample& in, AxisSet reduced, const float* means, void* accumulators,
                Arena& arena) {
  if (in.volume() == 0) return;
  Accumulation(reduction, in, reduced, means, accumulators, arena).run(in.data);
}

}  // namespace headrace
