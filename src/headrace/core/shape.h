// Shape: the extents of a tensor, outermost first, stored inline.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"

namespace headrace {

class Shape {
 public:
  static constexpr int kMaxDims = 16;

  Shape() { std::fill_n(extents_.begin(), kUsualDims, 0); }
  Shape(const Shape& other) { copy(other); }
  Shape& operator=(const Shape& other) {
    copy(other);
    return *this;
  }
  Shape(std::initializer_list<int64_t> extents) : Shape(std::span(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const int64_t> extents);

  int ndim() const { return ndim_; }
  int64_t operator[](int axis) const { return extents_[axis]; }
  int64_t& operator[](int axis) { return extents_[axis]; }
  const int64_t* begin() const { return extents_.data(); }
  const int64_t* end() const { return extents_.data() + ndim_; }

  // Number of elements: the product of the extents, 1 for a scalar.
  int64_t volume() const {
    int64_t v = 1;
    for (int64_t e : *this) v *= e;
    return v;
  }

  void push_back(int64_t extent) { insert(ndim_, extent); }
  void insert(int axis, int64_t extent);
  void erase(int axis);

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.ndim_ != b.ndim_) return false;
    for (int i = 0; i < a.ndim_; ++i) {
      if (a.extents_[i] != b.extents_[i]) return false;
    }
    return true;
  }

 private:
  // Few tensors have more axes. Shapes are copied some dozen times for each sample, so copies leave out the others.
  static constexpr int kUsualDims = 4;

  void copy(const Shape& other) {
    ndim_ = other.ndim_;
    std::copy_n(other.extents_.begin(), kUsualDims, extents_.begin());
    if (ndim_ > kUsualDims) [[unlikely]]
      std::copy_n(other.extents_.begin() + kUsualDims, kMaxDims - kUsualDims, extents_.begin() + kUsualDims);
  }

  int ndim_ = 0;
  std::array<int64_t, kMaxDims> extents_;
};

// "(28, 28, 1)"; "()" for a scalar.
std::string to_string(const Shape& shape);

// Number of elements, or an error naming `what` if an extent is negative or the bytes exceed what size_t can count.
int64_t checked_volume(const Shape& shape, size_t element_size, std::string_view what);

}  // namespace headrace

// Only fmt/core.h is included, so the text is copied here; the library's own string formatter needs fmt/format.h.
template <> struct fmt::formatter<headrace::Shape> {
  constexpr auto parse(fmt::format_parse_context& ctx) { return ctx.begin(); }
  auto format(const headrace::Shape& shape, fmt::format_context& ctx) const {
    const std::string text = headrace::to_string(shape);
    return std::copy(text.begin(), text.end(), ctx.out());
  }
};
