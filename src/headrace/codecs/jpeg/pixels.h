// From component planes to pixels: libjpeg's "fancy" upsampling of chroma rows and its conversion of YCbCr to RGB.
#pragma once

#include <cstdint>

namespace headrace::jpeg {

// How far the functions below read and write past the end of rows of planes. Pixel rows are never overrun.
inline constexpr int kRowSlack = 64;

// Each of the next three makes two pixels of each of `n` samples, or two rows of each row, by the triangle filter:
// 3/4 of the nearer sample, 1/4 of the further one; rounding alternates as in libjpeg's jdsample.c. They read
// in[-1] and in[n], which repeat the edge where the image ends.
void upsample_h2v1(const uint8_t* in, int n, uint8_t* out);
// `near` is the row that the output row lies in, `far` the one next to it.
void upsample_h2v2(const uint8_t* near, const uint8_t* far, int n, uint8_t* out);
// `lower`: the output row is the lower one of the two that `near` covers.
void upsample_h1v2(const uint8_t* near, const uint8_t* far, bool lower, int n, uint8_t* out);

// Repeats each sample `times` times.
void repeat_samples(const uint8_t* in, int n, int times, uint8_t* out);

// Writes `n` pixels of three bytes from full-range YCbCr (ITU-R BT.601; 16 fractional bits, as libjpeg's jdcolor.c).
void ycc_to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int n, bool bgr, uint8_t* out);

// Writes `n` pixels of three bytes, a first.
void merge_planes(const uint8_t* a, const uint8_t* b, const uint8_t* c, int n, uint8_t* out);

}  // namespace headrace::jpeg
