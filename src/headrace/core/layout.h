// Layout: the meaning of a tensor's axes, one letter each, outermost first ("HWC"). Empty means unknown.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "core/error.h"
#include "core/shape.h"

namespace headrace {

class Layout {
 public:
  Layout() = default;
  Layout(const char* letters) : Layout(std::string_view(letters)) {}
  explicit Layout(std::string_view letters) {
    check_value(letters.size() <= Shape::kMaxDims, "layout: at most {} letters, got \"{}\"", Shape::kMaxDims, letters);
    check_value(std::all_of(letters.begin(), letters.end(), [](char letter) { return letter > ' ' && letter < 127; }),
                "layout: expected printable ASCII letters, got \"{}\"", letters);
    size_ = static_cast<uint8_t>(letters.size());
    letters.copy(letters_.data(), letters.size());
  }

  bool empty() const { return size_ == 0; }
  int ndim() const { return size_; }
  char operator[](int axis) const { return letters_[axis]; }
  std::string_view str() const { return {letters_.data(), size_}; }

  // The axis of a letter, or -1.
  int find(char letter) const {
    for (int axis = 0; axis < size_; ++axis) {  // quicker than a call of memchr
      if (letters_[axis] == letter) return axis;
    }
    return -1;
  }
  bool contains(char letter) const { return find(letter) >= 0; }

  void push_back(char letter) { insert(size_, letter); }
  void insert(int axis, char letter) {
    check_value(size_ < Shape::kMaxDims, "layout: at most {} letters", Shape::kMaxDims);
    for (int i = size_; i > axis; --i) letters_[i] = letters_[i - 1];
    letters_[axis] = letter;
    ++size_;
  }
  void erase(int axis) {
    for (int i = axis; i + 1 < size_; ++i) letters_[i] = letters_[i + 1];
    --size_;
  }

  friend bool operator==(const Layout& a, const Layout& b) { return a.str() == b.str(); }

 private:
  uint8_t size_ = 0;
  std::array<char, Shape::kMaxDims> letters_{};
};

}  // namespace headrace

template <> struct fmt::formatter<headrace::Layout> {
  constexpr auto parse(fmt::format_parse_context& ctx) { return ctx.begin(); }
  auto format(const headrace::Layout& layout, fmt::format_context& ctx) const {
    const std::string_view text = layout.str();
    return std::copy(text.begin(), text.end(), ctx.out());
  }
};
