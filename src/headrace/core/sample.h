// Sample: a view of one item of one output. It owns nothing.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/layout.h"
#include "core/region.h"
#include "core/sample_id.h"
#include "core/shape.h"

namespace headrace {

// A dense tensor in C order. `data` is null while only type and shape are known.
//
// Note [regions]: behind operators that ask for a part of their input only (SampleOperator::input_region), that part
// may be all that is in memory: `region` says which, `shape` is still the whole tensor's. Such an operator reads by
// origin() and stored_shape(); no other one ever meets a region.
struct Sample {
  void* data = nullptr;
  const Region* region = nullptr;
  DType dtype = DType::kNone;
  Layout layout;
  Shape shape;
  Source source;

  // False where a conditional left this sample out.
  bool present() const { return dtype != DType::kNone; }
  int64_t volume() const { return shape.volume(); }
  size_t bytes() const { return static_cast<size_t>(shape.volume()) * dtype_size(dtype); }
  // Extents of what is in memory.
  Shape stored_shape() const { return region ? region->extent() : shape; }
  // Where element (0, 0, ...) would be if all were in memory: add index times the strides of stored_shape().
  uint8_t* origin() const {
    if (!region) return static_cast<uint8_t*>(data);
    const Shape stored = region->extent();
    int64_t stride = static_cast<int64_t>(dtype_size(dtype)), offset = 0;
    for (int i = stored.ndim() - 1; i >= 0; --i) {
      offset += region->begin[i] * stride;
      stride *= stored[i];
    }
    return reinterpret_cast<uint8_t*>(reinterpret_cast<intptr_t>(data) - offset);
  }
  template <typename T> T* as() const { return static_cast<T*>(data); }
  // Takes over type, shape, layout and source, not the data.
  void describe_as(const Sample& other) {
    dtype = other.dtype;
    layout = other.layout;
    shape = other.shape;
    source = other.source;
  }
};

}  // namespace headrace
