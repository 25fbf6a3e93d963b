// Conversion of pixel rows: colour (at the sample type of the source), then sample type. Internal to codecs/.
#pragma once

#include <cstdint>

#include "codecs/row_sink.h"

namespace headrace {

// Channels of a colour; kAny has none of its own.
constexpr int color_channels(ImageColor color) { return color == ImageColor::kGray ? 1 : 3; }

// Converts `count` pixels. Alpha is dropped; gray is repeated; gray of colour is .299 R + .587 G + .114 B; YCbCr is the
// studio range matrix of ITU-R BT.601 (Y 16..235), scaled to the sample type. `sample` is u8 or u16, `to` not kAny.
void convert_color(PixelLayout from, ImageColor to, DType sample, const void* in, void* out, int count);

// Scales samples from the full range of `from` (u8 or u16) to that of `to`, rounding to nearest; f32 gets [0, 1].
void convert_samples(DType from, DType to, const void* in, void* out, int64_t count);

// CMYK with 0 = no ink, as Pillow converts it to RGB: each of C, M, Y scales what K leaves. `out` may be `in`.
void cmyk_to_rgb(const uint8_t* in, uint8_t* out, int count, bool inverted);

}  // namespace headrace
