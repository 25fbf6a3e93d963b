// Sample: a view of one item of one output. It owns nothing.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/layout.h"
#include "core/sample_id.h"
#include "core/shape.h"

namespace headrace {

// A dense tensor in C order. `data` is null while only type and shape are known.
struct Sample {
  void* data = nullptr;
  DType dtype = DType::kNone;
  Layout layout;
  Shape shape;
  Source source;

  // False where a conditional left this sample out.
  bool present() const { return dtype != DType::kNone; }
  int64_t volume() const { return shape.volume(); }
  size_t bytes() const { return static_cast<size_t>(shape.volume()) * dtype_size(dtype); }
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
