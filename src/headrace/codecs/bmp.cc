// BMP decoder of our own: Windows (v2 to v5) and OS/2 headers, 1 to 32 bits, bit fields, RLE4 and RLE8.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "codecs/byte_reader.h"
#include "codecs/format_decoder.h"

namespace headrace {
namespace {

constexpr size_t kFileHeaderBytes = 14;
constexpr uint32_t kOs2HeaderBytes = 12;

enum Compression : uint32_t { kNone = 0, kRle8 = 1, kRle4 = 2, kBitFields = 3, kAlphaBitFields = 6 };

struct BmpHeader {
  int width = 0;
  int height = 0;
  bool top_down = false;
  int bits = 0;
  uint32_t compression = kNone;
  std::array<uint32_t, 4> masks{};  // red, green, blue, alpha
  size_t palette_at = 0;
  size_t palette_entry = 4;
  size_t palette_entries = 0;
  size_t pixels_at = 0;

  bool run_length() const { return compression == kRle8 || compression == kRle4; }
  size_t stride() const { return (static_cast<size_t>(width) * static_cast<size_t>(bits) + 31) / 32 * 4; }
};

void read_masks(Bytes bytes, uint32_t header_bytes, BmpHeader& h) {
  if (h.bits == 16) h.masks = {0x7c00, 0x3e0, 0x1f, 0};
  if (h.bits == 32) h.masks = {0xff0000, 0xff00, 0xff, 0};
  if (h.compression != kBitFields && h.compression != kAlphaBitFields) return;
  // Three masks follow a v3 header or are part of a later one, which also has one for alpha.
  const size_t count = header_bytes >= 56 || h.compression == kAlphaBitFields ? 4 : 3;
  check(has_bytes(bytes, kFileHeaderBytes + 40, count * 4), "BMP: the colour masks are cut short");
  for (size_t i = 0; i < count; ++i) h.masks[i] = load_le32(&bytes[kFileHeaderBytes + 40 + i * 4]);
  if (header_bytes < 52) h.palette_at += count * 4;
  check(h.masks[0] && h.masks[1] && h.masks[2], "BMP: empty colour masks");
}

BmpHeader parse(Bytes bytes) {
  check(has_bytes(bytes, 0, kFileHeaderBytes + kOs2HeaderBytes), "BMP: only {} bytes", bytes.size());
  const uint32_t header_bytes = load_le32(&bytes[kFileHeaderBytes]);
  const bool known = header_bytes == kOs2HeaderBytes || header_bytes == 40 || header_bytes == 52 ||
                     header_bytes == 56 || header_bytes == 64 || header_bytes == 108 || header_bytes == 124;
  check(known && has_bytes(bytes, kFileHeaderBytes, header_bytes), "BMP: unknown header of {} bytes", header_bytes);
  const uint8_t* p = &bytes[kFileHeaderBytes];
  BmpHeader h;
  h.pixels_at = load_le32(&bytes[10]);
  h.palette_at = kFileHeaderBytes + header_bytes;
  int64_t height;
  size_t colors = 0;
  if (header_bytes == kOs2HeaderBytes) {
    h.width = load_le16(p + 4);
    height = load_le16(p + 6);
    h.bits = load_le16(p + 10);
    h.palette_entry = 3;
  } else {
    h.width = static_cast<int>(load_le32(p + 4));
    height = static_cast<int32_t>(load_le32(p + 8));
    h.bits = load_le16(p + 14);
    h.compression = load_le32(p + 16);
    colors = load_le32(p + 32);
  }
  h.top_down = height < 0;
  height = std::abs(height);
  // A run of two bytes makes at most 255 pixels.
  check_plausible_size("BMP", h.width, height, bytes.size(), h.run_length() ? 128 : 8);
  h.height = static_cast<int>(height);
  const bool ok =
      h.compression == kNone ? h.bits == 1 || h.bits == 4 || h.bits == 8 || h.bits == 16 || h.bits == 24 || h.bits == 32
      : h.compression == kRle8 ? h.bits == 8
      : h.compression == kRle4
          ? h.bits == 4
          : (h.compression == kBitFields || h.compression == kAlphaBitFields) && (h.bits == 16 || h.bits == 32);
  if (!ok) fail(ErrorKind::kUnsupported, "BMP: compression {} with {} bits is not supported", h.compression, h.bits);
  check(!h.run_length() || !h.top_down, "BMP: a run-length coded image cannot be top-down");
  read_masks(bytes, header_bytes, h);
  if (h.bits > 8) return h;
  const size_t largest = size_t{1} << h.bits;
  h.palette_entries = colors == 0 ? largest : colors;
  check(h.palette_entries <= 256, "BMP: a palette of {} colours", h.palette_entries);
  // Writers that state fewer colours than they use, or more than there is room for, exist.
  if (h.pixels_at > h.palette_at) {
    h.palette_entries = std::min(h.palette_entries, (h.pixels_at - h.palette_at) / h.palette_entry);
  }
  h.palette_entries = std::min(h.palette_entries, largest);
  check(has_bytes(bytes, h.palette_at, h.palette_entries * h.palette_entry), "BMP: the palette is cut short");
  return h;
}

// Scales what `mask` selects to 0..255.
uint8_t masked(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 255;
  const uint64_t largest = mask >> std::countr_zero(mask);
  const uint64_t value = (pixel & mask) >> std::countr_zero(mask);
  return static_cast<uint8_t>((value * 255 + largest / 2) / largest);
}

class BmpDecoder final : public FormatDecoder {
 public:
  void decode(Bytes bytes, const ImageHeader& header, const ImageDecodeOptions&, RowSink& sink) override {
    const BmpHeader h = parse(bytes);
    check(h.width == header.width && h.height == header.height, "BMP: the header given is not that of the data");
    check(has_bytes(bytes, h.pixels_at, 1), "BMP: no pixel data");
    Bytes pixels = bytes.subspan(h.pixels_at);
    size_t stride = h.stride();
    if (h.run_length()) {
      expand_runs(pixels, h);
      pixels = indices_;
      stride = static_cast<size_t>(h.width);
    }
    const size_t used = (static_cast<size_t>(h.width) * static_cast<size_t>(h.run_length() ? 8 : h.bits) + 7) / 8;
    check(has_bytes(pixels, stride * static_cast<size_t>(h.height - 1), used), "BMP: only {} bytes of pixel data",
          pixels.size());
    read_palette(bytes, h);
    put_rows(pixels, stride, h, sink);
  }

 private:
  void read_palette(Bytes bytes, const BmpHeader& h) {
    palette_.fill(0);
    for (size_t i = 0; i < h.palette_entries; ++i) {
      std::memcpy(&palette_[i * 3], &bytes[h.palette_at + i * h.palette_entry], 3);
    }
  }

  void put_rows(Bytes pixels, size_t stride, const BmpHeader& h, RowSink& sink) {
    const bool alpha = h.masks[3] != 0;
    sink.begin(alpha ? PixelLayout::kRgba : PixelLayout::kBgr, DType::kUInt8);
    row_.resize(static_cast<size_t>(sink.region().width) * sink.pixel_bytes());
    const ImageRegion& region = sink.region();
    const int index_bits = h.run_length() ? 8 : h.bits;
    for (int y = region.y; y < region.y + region.height; ++y) {
      const size_t stored_y = static_cast<size_t>(h.top_down ? y : h.height - 1 - y);
      const uint8_t* row = pixels.data() + stored_y * stride;
      if (h.bits == 24) {
        sink.put_whole(y, row);
        continue;
      }
      if (h.bits <= 8) {
        expand_palette(row, region, index_bits);
      } else {
        expand_masks(row, region, h);
      }
      sink.put(y, row_.data());
    }
  }

  void expand_palette(const uint8_t* row, const ImageRegion& region, int bits) {
    uint8_t* out = row_.data();
    const int mask = (1 << bits) - 1;
    for (int64_t x = region.x; x < region.x + region.width; ++x, out += 3) {
      const int64_t bit = x * bits;
      const int index = row[bit >> 3] >> (8 - bits - (bit & 7)) & mask;
      std::memcpy(out, &palette_[static_cast<size_t>(index) * 3], 3);
    }
  }

  void expand_masks(const uint8_t* row, const ImageRegion& region, const BmpHeader& h) {
    uint8_t* out = row_.data();
    const bool alpha = h.masks[3] != 0;
    for (int64_t x = region.x; x < region.x + region.width; ++x) {
      const uint32_t pixel = h.bits == 16 ? load_le16(row + x * 2) : load_le32(row + x * 4);
      const uint8_t red = masked(pixel, h.masks[0]);
      const uint8_t green = masked(pixel, h.masks[1]);
      const uint8_t blue = masked(pixel, h.masks[2]);
      *out++ = alpha ? red : blue;
      *out++ = green;
      *out++ = alpha ? blue : red;
      if (alpha) *out++ = masked(pixel, h.masks[3]);
    }
  }

  // Runs, escapes and literal stretches of RLE4 and RLE8 into one index per byte. Pixels passed over are index 0.
  void expand_runs(Bytes data, const BmpHeader& h) {
    const size_t width = static_cast<size_t>(h.width);
    const size_t height = static_cast<size_t>(h.height);
    indices_.assign(width * height, 0);
    const bool four = h.compression == kRle4;
    size_t x = 0, y = 0, at = 0;
    const auto put = [&](uint8_t index) {
      check(x < width && y < height, "BMP: run-length data beyond the image");
      indices_[y * width + x++] = index;
    };
    while (true) {
      // The last row complete without an end mark counts as the end, as elsewhere.
      if (at == data.size() && y + 1 >= height && x >= width) return;
      check(has_bytes(data, at, 2), "BMP: the run-length data ends too early");
      const uint8_t count = data[at];
      const uint8_t value = data[at + 1];
      at += 2;
      if (count > 0) {
        for (int i = 0; i < count; ++i) put(four ? (i % 2 ? value & 15 : value >> 4) : value);
      } else if (value == 0) {
        x = 0;
        ++y;
      } else if (value == 1) {
        return;
      } else if (value == 2) {
        check(has_bytes(data, at, 2), "BMP: the run-length data ends too early");
        x += data[at];
        y += data[at + 1];
        at += 2;
      } else {
        const size_t bytes = four ? (value + 1u) / 2 : value;
        check(has_bytes(data, at, bytes), "BMP: the run-length data ends too early");
        for (size_t i = 0; i < value; ++i) {
          put(four ? (i % 2 ? data[at + i / 2] & 15 : data[at + i / 2] >> 4) : data[at + i]);
        }
        at += bytes + bytes % 2;
      }
    }
  }

  std::array<uint8_t, 768> palette_{};  // blue, green, red
  std::vector<uint8_t> row_;
  std::vector<uint8_t> indices_;
};

}  // namespace

ImageHeader read_bmp_header(Bytes bytes) {
  const BmpHeader h = parse(bytes);
  ImageHeader header;
  header.width = h.width;
  header.height = h.height;
  header.channels = h.masks[3] != 0 ? 4 : 3;
  return header;
}

std::unique_ptr<FormatDecoder> make_bmp_decoder() { return std::make_unique<BmpDecoder>(); }

}  // namespace headrace
