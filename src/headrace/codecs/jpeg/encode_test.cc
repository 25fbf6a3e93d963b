// The files that the tests of the JPEG decoder use, made by libjpeg.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include <jpeglib.h>

#include "codecs/jpeg/jpeg_testing.h"

namespace headrace::jpeg {

ByteVector test_image(const Encoding& e) {
  std::mt19937 random(e.seed);
  ByteVector pixels(static_cast<size_t>(e.width) * e.height * e.components);
  for (int y = 0, i = 0; y < e.height; ++y) {
    for (int x = 0; x < e.width; ++x) {
      for (int c = 0; c < e.components; ++c, ++i) {
        const bool patch = (x / 7 + y / 5 + c) % 4 == 0;
        const int value = 128 + (x * (3 + c)) % 90 - (y * (2 + c)) % 70 + static_cast<int>(random() % 20);
        pixels[static_cast<size_t>(i)] =
            patch ? ((x + y + c) % 2 ? 255 : 0) : static_cast<uint8_t>(std::clamp(value, 0, 255));
      }
    }
  }
  return pixels;
}

ByteVector encode(const Encoding& e, const ByteVector& pixels) {
  jpeg_compress_struct cinfo;
  jpeg_error_mgr error;
  cinfo.err = jpeg_std_error(&error);
  jpeg_create_compress(&cinfo);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &data, &size);
  cinfo.image_width = static_cast<JDIMENSION>(e.width);
  cinfo.image_height = static_cast<JDIMENSION>(e.height);
  cinfo.input_components = e.components;
  cinfo.in_color_space = e.components == 1 ? JCS_GRAYSCALE : e.components == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&cinfo);
  if (e.rgb) jpeg_set_colorspace(&cinfo, JCS_RGB);
  if (e.ycck) jpeg_set_colorspace(&cinfo, JCS_YCCK);
  for (int c = 0; c < e.components; ++c) {
    cinfo.comp_info[c].h_samp_factor = c == 0 || c == 3 ? e.h : 1;
    cinfo.comp_info[c].v_samp_factor = c == 0 || c == 3 ? e.v : 1;
  }
  jpeg_set_quality(&cinfo, e.quality, TRUE);
  cinfo.restart_interval = static_cast<unsigned>(e.restart);
  cinfo.optimize_coding = e.optimize;
  jpeg_start_compress(&cinfo, TRUE);
  for (int y = 0; y < e.height; ++y) {
    auto* row = const_cast<JSAMPROW>(&pixels[static_cast<size_t>(y) * e.width * e.components]);
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  ByteVector bytes(data, data + size);
  std::free(data);
  return bytes;
}

namespace {

TEST(OwnJpegFiles, AreOfTheKindAskedFor) {
  FileLayout layout;
  ASSERT_TRUE(read_layout(encode({.width = 30, .height = 20, .h = 2, .v = 1, .restart = 3}), layout));
  EXPECT_EQ(layout.width, 30);
  EXPECT_EQ(layout.height, 20);
  EXPECT_EQ(layout.restart_interval, 3);
  EXPECT_EQ(layout.component[0].h, 2);
  EXPECT_EQ(layout.component[0].v, 1);
  EXPECT_EQ(layout.coding, ColorCoding::kYcc);
  ASSERT_TRUE(read_layout(encode({.rgb = true}), layout));
  EXPECT_EQ(layout.coding, ColorCoding::kRgb);
  ASSERT_TRUE(read_layout(encode({.components = 1}), layout));
  EXPECT_EQ(layout.coding, ColorCoding::kGray);
  ASSERT_TRUE(read_layout(encode({.components = 4, .h = 2}), layout));
  EXPECT_EQ(layout.coding, ColorCoding::kCmyk);
  ASSERT_TRUE(read_layout(encode({.components = 4, .ycck = true}), layout));
  EXPECT_EQ(layout.coding, ColorCoding::kYcck);
}

}  // namespace
}  // namespace headrace::jpeg
