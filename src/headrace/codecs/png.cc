// PNG decoder of our own over libdeflate: chunks, filters and interlacing of the PNG specification (third edition).
#include <libdeflate.h>

#include <array>
#include <cstring>
#include <vector>

#include "codecs/byte_reader.h"
#include "codecs/exif.h"
#include "codecs/format_decoder.h"
#include "codecs/png_filter.h"

namespace headrace {
namespace {

constexpr size_t kSignatureBytes = 8;
constexpr size_t kChunkOverhead = 12;  // length, type, CRC

// Colour types of IHDR.
enum ColorType : uint8_t { kGray = 0, kRgb = 2, kPalette = 3, kGrayAlpha = 4, kRgba = 6 };

struct Ihdr {
  int width, height, bit_depth;
  ColorType color;
  bool interlaced;

  int stored_channels() const { return color == kRgb ? 3 : color == kRgba ? 4 : color == kGrayAlpha ? 2 : 1; }
  int bits_per_pixel() const { return stored_channels() * bit_depth; }
  // Bytes of `pixels` pixels, rounded up.
  size_t row_bytes(int pixels) const {
    return (static_cast<size_t>(pixels) * static_cast<size_t>(bits_per_pixel()) + 7) / 8;
  }
};

struct Chunk {
  uint32_t type;
  Bytes data;
  size_t next;  // offset behind the chunk
};

constexpr uint32_t chunk_type(const char (&name)[5]) {
  return static_cast<uint32_t>(name[0]) << 24 | static_cast<uint32_t>(name[1]) << 16 |
         static_cast<uint32_t>(name[2]) << 8 | static_cast<uint32_t>(name[3]);
}

Chunk chunk_at(Bytes bytes, size_t at) {
  check(has_bytes(bytes, at, kChunkOverhead), "PNG: the data ends without IEND, after {} bytes", bytes.size());
  const size_t length = load_be32(&bytes[at]);
  check(has_bytes(bytes, at + kChunkOverhead, length),
        "PNG: a chunk of {} bytes at offset {} exceeds the {} bytes given", length, at, bytes.size());
  return {load_be32(&bytes[at + 4]), bytes.subspan(at + 8, length), at + kChunkOverhead + length};
}

void check_crc(const Chunk& chunk) {
  const uint8_t* type = chunk.data.data() - 4;
  const uint32_t stored = load_be32(chunk.data.data() + chunk.data.size());
  check(libdeflate_crc32(0, type, chunk.data.size() + 4) == stored, "PNG: wrong checksum of chunk {:.4}",
        std::string_view(reinterpret_cast<const char*>(type), 4));
}

bool is_critical(uint32_t type) { return (type >> 29 & 1) == 0; }

Ihdr read_ihdr(Bytes bytes) {
  check(has_bytes(bytes, 0, kSignatureBytes + kChunkOverhead), "PNG: only {} bytes", bytes.size());
  const Chunk chunk = chunk_at(bytes, kSignatureBytes);
  check(chunk.type == chunk_type("IHDR") && chunk.data.size() == 13, "PNG: the first chunk is not IHDR");
  check_crc(chunk);
  const uint8_t* d = chunk.data.data();
  const int depth = d[8];
  const int color = d[9];
  const bool depth_ok = color == kGray      ? depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16
                        : color == kPalette ? depth == 1 || depth == 2 || depth == 4 || depth == 8
                                            : depth == 8 || depth == 16;
  const bool color_ok = color == kGray || color == kRgb || color == kPalette || color == kGrayAlpha || color == kRgba;
  check(color_ok && depth_ok, "PNG: colour type {} with {} bits is not allowed", color, depth);
  check(d[10] == 0 && d[11] == 0 && d[12] <= 1, "PNG: unknown compression, filter or interlace method");
  // Deflate shrinks by a factor of 1032 at most.
  const int64_t bits = int64_t{depth} * (color == kRgb ? 3 : color == kRgba ? 4 : color == kGrayAlpha ? 2 : 1);
  check_plausible_size("PNG", load_be32(d), load_be32(d + 4), bytes.size(), 1032 * 8 / bits + 1);
  return {static_cast<int>(load_be32(d)), static_cast<int>(load_be32(d + 4)), depth, static_cast<ColorType>(color),
          d[12] == 1};
}

// One of the seven passes of Adam7: where its pixels lie.
struct Pass {
  int x0, y0, dx, dy;
  int width(int image_width) const { return (image_width - x0 + dx - 1) / dx; }
  int height(int image_height) const { return (image_height - y0 + dy - 1) / dy; }
};
constexpr std::array<Pass, 7> kAdam7 = {
    {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}};
constexpr Pass kWholeImage = {0, 0, 1, 1};

std::span<const Pass> passes_of(const Ihdr& ihdr) {
  return ihdr.interlaced ? std::span<const Pass>(kAdam7) : std::span<const Pass>(&kWholeImage, 1);
}

class PngDecoder final : public FormatDecoder {
 public:
  PngDecoder() : inflater_(libdeflate_alloc_decompressor()) {
    check_internal(inflater_ != nullptr, "PNG: out of memory");
  }
  ~PngDecoder() override { libdeflate_free_decompressor(inflater_); }

  void decode(Bytes bytes, const ImageHeader& header, const ImageDecodeOptions&, RowSink& sink) override {
    const Ihdr ihdr = read_ihdr(bytes);
    check(ihdr.width == header.width && ihdr.height == header.height, "PNG: the header given is not that of the data");
    const Bytes compressed = read_chunks(bytes, ihdr);
    inflate(compressed, ihdr);
    begin(ihdr, sink);
    if (ihdr.interlaced) {
      put_interlaced(ihdr, sink);
    } else {
      put_plain(ihdr, sink);
    }
  }

 private:
  // Walks all chunks, fills the palette and returns the image data as one piece.
  Bytes read_chunks(Bytes bytes, const Ihdr& ihdr) {
    Bytes first;
    bool joined = false;
    bool has_palette = false;
    bool has_data = false;
    for (size_t at = kSignatureBytes;;) {
      const Chunk chunk = chunk_at(bytes, at);
      at = chunk.next;
      if (is_critical(chunk.type)) check_crc(chunk);
      if (chunk.type == chunk_type("IEND")) break;
      if (chunk.type == chunk_type("PLTE")) {
        read_palette(chunk.data);
        has_palette = true;
      } else if (chunk.type == chunk_type("IDAT")) {
        if (!has_data) {
          first = chunk.data;
          has_data = true;
        } else {
          if (!joined) compressed_.assign(first.begin(), first.end());
          joined = true;
          compressed_.insert(compressed_.end(), chunk.data.begin(), chunk.data.end());
        }
      } else {
        check(!is_critical(chunk.type) || chunk.type == chunk_type("IHDR"), "PNG: unknown critical chunk at offset {}",
              at - chunk.data.size() - kChunkOverhead);
      }
    }
    check(has_data, "PNG: no image data (IDAT)");
    check(ihdr.color != kPalette || has_palette, "PNG: a palette image without palette");
    return joined ? Bytes(compressed_) : first;
  }

  void read_palette(Bytes data) {
    check(data.size() % 3 == 0 && data.size() <= 768 && !data.empty(), "PNG: a palette of {} bytes", data.size());
    palette_entries_ = data.size() / 3;
    std::memcpy(palette_.data(), data.data(), data.size());
  }

  void inflate(Bytes compressed, const Ihdr& ihdr) {
    size_t size = 0;
    for (const Pass& pass : passes_of(ihdr)) {
      const int width = pass.width(ihdr.width);
      if (width > 0) size += (ihdr.row_bytes(width) + 1) * static_cast<size_t>(pass.height(ihdr.height));
    }
    if (raw_.size() < size) raw_.resize(size);
    size_t used = 0;
    size_t made = 0;
    const libdeflate_result result =
        libdeflate_zlib_decompress_ex(inflater_, compressed.data(), compressed.size(), raw_.data(), size, &used, &made);
    check(result == LIBDEFLATE_SUCCESS, "PNG: {}",
          result == LIBDEFLATE_INSUFFICIENT_SPACE ? "more image data than the header claims"
                                                  : "the compressed image data is damaged");
    check(made == size, "PNG: only {} of {} bytes of image data", made, size);
  }

  void begin(const Ihdr& ihdr, RowSink& sink) {
    constexpr PixelLayout kLayouts[] = {PixelLayout::kGray, PixelLayout::kGrayAlpha, PixelLayout::kRgb,
                                        PixelLayout::kRgba};
    const int channels = ihdr.color == kPalette ? 3 : ihdr.stored_channels();
    sink.begin(kLayouts[channels - 1], ihdr.bit_depth == 16 ? DType::kUInt16 : DType::kUInt8);
    if (ihdr.bit_depth != 8 || ihdr.color == kPalette) {
      unpacked_.resize(static_cast<size_t>(ihdr.width) * sink.pixel_bytes());
    }
  }

  // A row of the file as whole samples in native byte order and aligned: itself, or unpacked.
  const uint8_t* to_samples(const Ihdr& ihdr, const uint8_t* row, int width) {
    if (ihdr.bit_depth == 8 && ihdr.color != kPalette) return row;
    if (ihdr.color == kPalette) {
      const bool ok =
          png::expand_palette(row, width, ihdr.bit_depth, palette_.data(), palette_entries_, unpacked_.data());
      check(ok, "PNG: a pixel refers to a colour beyond the palette of {}", palette_entries_);
    } else if (ihdr.bit_depth == 16) {
      png::swap_to_native(row, width * ihdr.stored_channels(), unpacked_.data());
    } else {
      png::expand_gray(row, width, ihdr.bit_depth, unpacked_.data());
    }
    return unpacked_.data();
  }

  void put_plain(const Ihdr& ihdr, RowSink& sink) {
    const ImageRegion& region = sink.region();
    const size_t row_bytes = ihdr.row_bytes(ihdr.width);
    const int bytes_per_pixel = std::max(ihdr.bits_per_pixel() / 8, 1);
    uint8_t* row = raw_.data();
    const uint8_t* above = nullptr;
    for (int y = 0; y < region.y + region.height; ++y, row += row_bytes + 1) {
      png::unfilter_row(row[0], row + 1, above, row_bytes, bytes_per_pixel);
      above = row + 1;
      if (y >= region.y) sink.put_whole(y, to_samples(ihdr, row + 1, ihdr.width));
    }
  }

  void put_interlaced(const Ihdr& ihdr, RowSink& sink) {
    const size_t pixel = sink.pixel_bytes();
    image_.resize(static_cast<size_t>(ihdr.width) * static_cast<size_t>(ihdr.height) * pixel);
    uint8_t* row = raw_.data();
    for (const Pass& pass : kAdam7) {
      const int width = pass.width(ihdr.width);
      if (width <= 0) continue;
      const size_t row_bytes = ihdr.row_bytes(width);
      const uint8_t* above = nullptr;
      for (int y = pass.y0; y < ihdr.height; y += pass.dy, row += row_bytes + 1) {
        png::unfilter_row(row[0], row + 1, above, row_bytes, std::max(ihdr.bits_per_pixel() / 8, 1));
        above = row + 1;
        const uint8_t* from = to_samples(ihdr, row + 1, width);
        uint8_t* to = image_.data() +
                      (static_cast<size_t>(y) * static_cast<size_t>(ihdr.width) + static_cast<size_t>(pass.x0)) * pixel;
        const size_t step = static_cast<size_t>(pass.dx) * pixel;
        for (int i = 0; i < width; ++i, from += pixel, to += step) std::memcpy(to, from, pixel);
      }
    }
    const ImageRegion& region = sink.region();
    for (int y = region.y; y < region.y + region.height; ++y) {
      sink.put_whole(y, image_.data() + static_cast<size_t>(y) * static_cast<size_t>(ihdr.width) * pixel);
    }
  }

  libdeflate_decompressor* inflater_;
  std::array<uint8_t, 768> palette_{};
  size_t palette_entries_ = 0;
  std::vector<uint8_t> compressed_;  // image data of files with several IDAT chunks
  std::vector<uint8_t> raw_;         // inflated rows, each with its filter byte
  std::vector<uint8_t> unpacked_;    // a row of whole samples
  std::vector<uint8_t> image_;       // interlaced images are put together here
};

}  // namespace

ImageHeader read_png_header(Bytes bytes) {
  const Ihdr ihdr = read_ihdr(bytes);
  ImageHeader header;
  header.width = ihdr.width;
  header.height = ihdr.height;
  header.channels = ihdr.color == kPalette ? 3 : ihdr.stored_channels();
  header.bit_depth = ihdr.bit_depth;
  // eXIf may stand before or after the image data. A damaged tail is decode's to report.
  for (size_t at = kSignatureBytes; has_bytes(bytes, at, kChunkOverhead);) {
    const size_t length = load_be32(&bytes[at]);
    const uint32_t type = load_be32(&bytes[at + 4]);
    if (type == chunk_type("IEND") || !has_bytes(bytes, at + kChunkOverhead, length)) break;
    if (type == chunk_type("eXIf")) {
      header.orientation = exif_orientation(bytes.subspan(at + 8, length));
      break;
    }
    at += kChunkOverhead + length;
  }
  return header;
}

std::unique_ptr<FormatDecoder> make_png_decoder() { return std::make_unique<PngDecoder>(); }

}  // namespace headrace
