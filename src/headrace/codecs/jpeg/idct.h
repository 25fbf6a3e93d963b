// The inverse DCT of libjpeg's "islow" method, bit for bit as libjpeg-turbo's vector code computes it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codecs/jpeg/layout.h"

namespace headrace::jpeg {

// Transforms `groups` groups of four blocks (see kGroupBlocks), multiplied by `quant`, into 8 rows of 32 * groups
// pixels, `stride` bytes apart, and zeroes the coefficients and `busy` (see Busy). Algorithm: Loeffler, Ligtenberg,
// Moschytz 1989, with 13 fractional bits, as in libjpeg's jidctint.c.
void idct_groups(int16_t* coefficients, uint8_t* busy, int groups, const QuantTable& quant, uint8_t* out,
                 ptrdiff_t stride);

}  // namespace headrace::jpeg
