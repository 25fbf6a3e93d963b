// Region: a box of a tensor, [begin, end) along each axis.
#pragma once

#include <algorithm>

#include "core/shape.h"

namespace headrace {

struct Region {
  Shape begin;
  Shape end;

  static Region whole(const Shape& shape) {
    Region region{shape, shape};
    for (int i = 0; i < shape.ndim(); ++i) region.begin[i] = 0;
    return region;
  }

  Shape extent() const {
    Shape extent = end;
    for (int i = 0; i < extent.ndim(); ++i) extent[i] = std::max<int64_t>(0, end[i] - begin[i]);
    return extent;
  }
  bool covers(const Shape& shape) const {
    for (int i = 0; i < shape.ndim(); ++i) {
      if (begin[i] > 0 || end[i] < shape[i]) return false;
    }
    return true;
  }
  // Grows to the smallest box that holds both.
  void unite(const Region& other) {
    for (int i = 0; i < begin.ndim(); ++i) {
      begin[i] = std::min(begin[i], other.begin[i]);
      end[i] = std::max(end[i], other.end[i]);
    }
  }
  // Cut to the tensor; an empty box becomes one element where there is one, so that there is something to compute.
  Region within(const Shape& shape) const {
    Region cut = *this;
    for (int i = 0; i < shape.ndim(); ++i) {
      cut.begin[i] = std::clamp<int64_t>(begin[i], 0, std::max<int64_t>(0, shape[i] - 1));
      cut.end[i] = std::clamp<int64_t>(end[i], std::min(cut.begin[i] + 1, shape[i]), shape[i]);
    }
    return cut;
  }
};

}  // namespace headrace
