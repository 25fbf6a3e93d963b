// Reversed rows of all pixel sizes and odd lengths against a loop over bytes.
#include "kernels/cpu/reverse_pixels.h"

#include <gtest/gtest.h>

#include <vector>

namespace headrace {
namespace {

TEST(ReversePixels, EqualsLoop) {
  for (const size_t size : {1, 2, 3, 4, 5, 6, 8, 12, 16, 24}) {
    for (size_t pixels = 0; pixels < 70; ++pixels) {
      std::vector<uint8_t> in(size * pixels + 1), out(in.size(), 0xee), expected = out;  // unaligned, with a guard byte
      for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint8_t>(i * 31 + 7);
      for (size_t i = 0; i < pixels; ++i) {
        for (size_t b = 0; b < size; ++b) expected[i * size + b] = in[1 + (pixels - 1 - i) * size + b];
      }
      reverse_pixels(in.data() + 1, out.data(), static_cast<int64_t>(pixels), size);
      ASSERT_EQ(out, expected) << pixels << " pixels of " << size << " bytes";
    }
  }
}

}  // namespace
}  // namespace headrace
