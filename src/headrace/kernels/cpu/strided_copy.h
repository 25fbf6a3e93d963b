// Strided copy: gathers a tensor with arbitrary strides into a dense one. Slicing and transposition are this.
#pragma once

#include <cstddef>
#include <span>

#include "core/shape.h"

namespace headrace {

// out[i, j, ...] = in[i * strides[0] + j * strides[1] + ...] for all indices of `shape`; `out` is dense in C order.
// Strides count elements and may be negative or 0. `element_size`: 1, 2, 4 or 8 bytes. Runs of neighbouring elements
// are moved as a whole; where the innermost axes of input and output differ, the copy goes tile by tile.
void strided_copy(const void* in, std::span<const int64_t> strides, void* out, const Shape& shape, size_t element_size);

}  // namespace headrace
