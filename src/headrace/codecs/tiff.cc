// TIFF decoder over libtiff: the first page; strips or tiles, 1 to 16 bit samples in any packing, 32 bit integers and
// floats in [0, 1] brought to 16 bits. Gray, RGB, palette and CMYK are converted here row by row; YCbCr, Lab and LogLuv
// by libtiff's own conversion to RGB.
#if HEADRACE_HAVE_TIFF
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "codecs/byte_reader.h"
#include "codecs/format_decoder.h"
#include "codecs/pixel_convert.h"

namespace headrace {
namespace {

// libtiff may be asked for no more than this in one piece, whatever a file claims.
constexpr tmsize_t kLargestAllocation = tmsize_t{1} << 30;

// What libtiff's callbacks see: the bytes, the position in them, what is wrong with them.
struct TiffInput {
  Bytes bytes;
  uint64_t position = 0;
  bool warnings_are_errors = false;
  char error[256] = "";
};

tmsize_t read_bytes(thandle_t handle, void* out, tmsize_t size) {
  auto* input = static_cast<TiffInput*>(handle);
  if (size <= 0 || input->position >= input->bytes.size()) return 0;
  const size_t count = std::min(static_cast<size_t>(size), input->bytes.size() - static_cast<size_t>(input->position));
  std::memcpy(out, &input->bytes[static_cast<size_t>(input->position)], count);
  input->position += count;
  return static_cast<tmsize_t>(count);
}

tmsize_t refuse_write(thandle_t, void*, tmsize_t) { return 0; }

toff_t seek(thandle_t handle, toff_t offset, int whence) {
  auto* input = static_cast<TiffInput*>(handle);
  const uint64_t base = whence == SEEK_CUR ? input->position : whence == SEEK_END ? input->bytes.size() : 0;
  input->position = base + offset;
  return input->position;
}

int do_nothing(thandle_t) { return 0; }

toff_t size_of(thandle_t handle) { return static_cast<TiffInput*>(handle)->bytes.size(); }

// libtiff reads strips of a mapped file without copying them.
int map_bytes(thandle_t handle, void** base, toff_t* size) {
  auto* input = static_cast<TiffInput*>(handle);
  *base = const_cast<uint8_t*>(input->bytes.data());
  *size = input->bytes.size();
  return 1;
}

void unmap(thandle_t, void*, toff_t) {}

int on_error(TIFF*, void* user, const char*, const char* format, va_list args) {
  auto* input = static_cast<TiffInput*>(user);
  std::vsnprintf(input->error, sizeof input->error, format, args);
  return 1;  // handled: the process-wide handler is not called
}

// Of damage in compressed pixels libtiff warns in some formats, and goes on with other pixels.
int on_warning(TIFF* tiff, void* user, const char* module, const char* format, va_list args) {
  const auto* input = static_cast<TiffInput*>(user);
  return input->warnings_are_errors ? on_error(tiff, user, module, format, args) : 1;
}

struct CloseTiff {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using TiffHandle = std::unique_ptr<TIFF, CloseTiff>;

TiffHandle open_tiff(TiffInput& input) {
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  check_internal(options != nullptr, "TIFF: out of memory");
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kLargestAllocation);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, &input);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, &input);
  TiffHandle tiff(TIFFClientOpenExt("image", "rm", &input, read_bytes, refuse_write, seek, do_nothing, size_of,
                                    map_bytes, unmap, options.get()));
  check(tiff != nullptr, "TIFF: {}", input.error[0] ? input.error : "the header is damaged");
  return tiff;
}

template <typename T> T tag(TIFF* tiff, uint32_t name, T otherwise) {
  T value = otherwise;
  return TIFFGetFieldDefaulted(tiff, name, &value) ? value : otherwise;
}

// What of the first page's tags decoding depends on.
struct TiffPage {
  uint32_t width, height;
  uint16_t photometric, bits, samples, format, compression, orientation, planar;
  bool alpha;
  bool by_libtiff;  // pixels come from libtiff's conversion to RGBA
};

bool has_alpha(TIFF* tiff) {
  uint16_t count = 0;
  uint16_t* kinds = nullptr;
  if (!TIFFGetFieldDefaulted(tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) || count == 0) return false;
  return kinds[0] == EXTRASAMPLE_ASSOCALPHA || kinds[0] == EXTRASAMPLE_UNASSALPHA;
}

// Pixels that a byte of the file can hold at most.
int64_t pixels_per_byte(const TiffPage& page) {
  switch (page.compression) {
    case COMPRESSION_NONE: return 8;
    case COMPRESSION_PACKBITS: return 8 * 64;
    case COMPRESSION_LZW:
    case COMPRESSION_DEFLATE:
    case COMPRESSION_ADOBE_DEFLATE: return 8 * 2048;
    default: return 65536;
  }
}

bool warns_of_damage(const TiffPage& page) {
  return page.compression == COMPRESSION_JPEG || page.compression == COMPRESSION_CCITTRLE ||
         page.compression == COMPRESSION_CCITTFAX3 || page.compression == COMPRESSION_CCITTFAX4;
}

void check_supported(const TiffPage& page) {
  const bool sample_ok = page.format == SAMPLEFORMAT_IEEEFP ? page.bits == 32
                         : page.format == SAMPLEFORMAT_UINT || page.format == SAMPLEFORMAT_VOID
                             ? (page.bits >= 1 && page.bits <= 16) || page.bits == 32
                             : false;
  if (!sample_ok) {
    fail(ErrorKind::kUnsupported, "TIFF: samples of {} bits in sample format {} are not supported", page.bits,
         page.format);
  }
  const int needed = page.photometric == PHOTOMETRIC_RGB ? 3 : page.photometric == PHOTOMETRIC_SEPARATED ? 4 : 1;
  if (page.photometric > PHOTOMETRIC_PALETTE && page.photometric != PHOTOMETRIC_SEPARATED) {
    fail(ErrorKind::kUnsupported, "TIFF: photometric interpretation {} is not supported", page.photometric);
  }
  check(page.samples >= needed, "TIFF: {} samples per pixel where {} are needed", page.samples, needed);
}

TiffPage read_page(TIFF* tiff, size_t bytes) {
  TiffPage page{};
  page.width = tag<uint32_t>(tiff, TIFFTAG_IMAGEWIDTH, 0);
  page.height = tag<uint32_t>(tiff, TIFFTAG_IMAGELENGTH, 0);
  page.bits = tag<uint16_t>(tiff, TIFFTAG_BITSPERSAMPLE, 1);
  page.samples = tag<uint16_t>(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
  page.format = tag<uint16_t>(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
  page.compression = tag<uint16_t>(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  page.orientation = tag<uint16_t>(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
  page.planar = tag<uint16_t>(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  const uint16_t guess = page.samples >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
  page.photometric = tag<uint16_t>(tiff, TIFFTAG_PHOTOMETRIC, guess);
  check_plausible_size("TIFF", page.width, page.height, bytes, pixels_per_byte(page));
  if (page.photometric == PHOTOMETRIC_YCBCR && page.compression == COMPRESSION_JPEG && page.samples == 3 &&
      page.planar == PLANARCONFIG_CONTIG) {
    TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    page.photometric = PHOTOMETRIC_RGB;
  }
  page.by_libtiff = page.photometric == PHOTOMETRIC_YCBCR || page.photometric == PHOTOMETRIC_CIELAB ||
                    page.photometric == PHOTOMETRIC_LOGL || page.photometric == PHOTOMETRIC_LOGLUV ||
                    page.compression == COMPRESSION_OJPEG;
  if (page.by_libtiff) return page;
  check_supported(page);
  page.alpha = page.samples > (page.photometric == PHOTOMETRIC_RGB ? 3 : 1) &&
               page.photometric != PHOTOMETRIC_PALETTE && page.photometric != PHOTOMETRIC_SEPARATED && has_alpha(tiff);
  return page;
}

// Samples that rows are made of before colour conversion: gray, gray + alpha, RGB, RGB + alpha or CMYK.
int used_samples(const TiffPage& page) {
  if (page.photometric == PHOTOMETRIC_SEPARATED) return 4;
  return (page.photometric == PHOTOMETRIC_RGB ? 3 : 1) + (page.alpha ? 1 : 0);
}

int output_channels(const TiffPage& page) {
  const bool three = page.by_libtiff || page.photometric == PHOTOMETRIC_PALETTE ||
                     page.photometric == PHOTOMETRIC_SEPARATED || page.photometric == PHOTOMETRIC_RGB;
  return (three ? 3 : 1) + (page.alpha ? 1 : 0);
}

// The sample at position i of a packed row, scaled to 0..65535; raw for palette indices.
class SampleReader {
 public:
  SampleReader(const TiffPage& page)
      : bits_(page.bits),
        is_float_(page.format == SAMPLEFORMAT_IEEEFP),
        scaled_(page.photometric != PHOTOMETRIC_PALETTE),
        largest_(page.bits <= 16 ? (1u << page.bits) - 1 : 0) {}

  uint16_t operator()(const uint8_t* row, size_t i) const {
    if (bits_ == 32) return wide(row + i * 4);
    uint32_t value;
    if (bits_ == 8) {
      value = row[i];
    } else if (bits_ == 16) {
      uint16_t native;
      std::memcpy(&native, row + i * 2, 2);
      value = native;
    } else {
      value = packed(row, i * static_cast<size_t>(bits_));
    }
    return static_cast<uint16_t>(scaled_ ? (uint64_t{value} * 65535 + largest_ / 2) / largest_ : value);
  }

 private:
  uint16_t wide(const uint8_t* p) const {
    if (is_float_) {
      float value;
      std::memcpy(&value, p, 4);
      return value > 0 ? static_cast<uint16_t>(std::min(value, 1.0f) * 65535.0f + 0.5f) : uint16_t{0};
    }
    uint32_t value;
    std::memcpy(&value, p, 4);
    return static_cast<uint16_t>(value >> 16);
  }

  uint32_t packed(const uint8_t* row, size_t bit) const {
    uint32_t value = 0;
    for (int done = 0; done < bits_;) {
      const int offset = static_cast<int>((bit + static_cast<size_t>(done)) & 7);
      const int take = std::min(8 - offset, bits_ - done);
      const uint32_t part = row[(bit + static_cast<size_t>(done)) >> 3] >> (8 - offset - take) & ((1u << take) - 1);
      value = value << take | part;
      done += take;
    }
    return value;
  }

  int bits_;
  bool is_float_;
  bool scaled_;
  uint32_t largest_;
};

class TiffDecoder final : public FormatDecoder {
 public:
  void decode(Bytes bytes, const ImageHeader& header, const ImageDecodeOptions&, RowSink& sink) override {
    TiffInput input{.bytes = bytes};
    const TiffHandle tiff = open_tiff(input);
    const TiffPage page = read_page(tiff.get(), bytes.size());
    check(page.width == static_cast<uint32_t>(header.width) && page.height == static_cast<uint32_t>(header.height) &&
              output_channels(page) == header.channels,
          "TIFF: the header given is not that of the data");
    input.warnings_are_errors = warns_of_damage(page);
    if (page.by_libtiff) {
      put_converted(tiff.get(), page, input, sink);
    } else {
      put_bands(tiff.get(), page, input, sink);
    }
    // A damaged strip is often only reported, and left gray.
    check(input.error[0] == 0, "TIFF: {}", input.error);
  }

 private:
  void put_converted(TIFF* tiff, const TiffPage& page, TiffInput& input, RowSink& sink) {
    char reason[1024] = "";
    if (!TIFFRGBAImageOK(tiff, reason)) fail(ErrorKind::kUnsupported, "TIFF: {}", reason);
    raster_.resize(size_t{page.width} * page.height);
    // The orientation is the sink's to apply.
    TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
    const int ok = TIFFReadRGBAImageOriented(tiff, page.width, page.height, raster_.data(), ORIENTATION_TOPLEFT, 1);
    check(ok == 1, "TIFF: {}", input.error[0] ? input.error : "the image data is damaged");
    sink.begin(PixelLayout::kRgb, DType::kUInt8);
    const ImageRegion& region = sink.region();
    row_.resize(static_cast<size_t>(region.width) * 3);
    for (int y = region.y; y < region.y + region.height; ++y) {
      const uint32_t* pixels = &raster_[static_cast<size_t>(y) * page.width + static_cast<size_t>(region.x)];
      for (int x = 0; x < region.width; ++x) {
        row_[static_cast<size_t>(x) * 3] = static_cast<uint8_t>(TIFFGetR(pixels[x]));
        row_[static_cast<size_t>(x) * 3 + 1] = static_cast<uint8_t>(TIFFGetG(pixels[x]));
        row_[static_cast<size_t>(x) * 3 + 2] = static_cast<uint8_t>(TIFFGetB(pixels[x]));
      }
      sink.put(y, row_.data());
    }
  }

  // Bands of strips or tiles, top to bottom, as far as the region needs them.
  void put_bands(TIFF* tiff, const TiffPage& page, TiffInput& input, RowSink& sink) {
    const bool tiled = TIFFIsTiled(tiff) != 0;
    uint32_t piece_width = page.width;
    uint32_t piece_height = tag<uint32_t>(tiff, TIFFTAG_ROWSPERSTRIP, page.height);
    if (tiled) {
      piece_width = tag<uint32_t>(tiff, TIFFTAG_TILEWIDTH, 0);
      piece_height = tag<uint32_t>(tiff, TIFFTAG_TILELENGTH, 0);
    }
    piece_height = tiled ? piece_height : std::min(piece_height, page.height);
    check_plausible_size("TIFF tile", piece_width, piece_height, input.bytes.size(), pixels_per_byte(page));
    const tmsize_t piece_bytes = tiled ? TIFFTileSize(tiff) : TIFFStripSize(tiff);
    check(piece_bytes > 0 && piece_bytes <= kLargestAllocation, "TIFF: strips or tiles of {} bytes", piece_bytes);
    piece_.resize(static_cast<size_t>(piece_bytes));
    read_colormap(tiff, page);
    begin(page, sink);

    const ImageRegion& region = sink.region();
    const uint32_t first = static_cast<uint32_t>(region.y);
    const uint32_t end = static_cast<uint32_t>(region.y + region.height);
    const int used = used_samples(page);
    for (uint32_t y = first - first % piece_height; y < end; y += piece_height) {
      const uint32_t rows = std::min(piece_height, page.height - y);
      band_.resize(size_t{page.width} * rows * static_cast<size_t>(used));
      for (int plane = 0; plane < (page.planar == PLANARCONFIG_SEPARATE ? used : 1); ++plane) {
        for (uint32_t x = 0; x < page.width; x += piece_width) {
          read_piece(tiff, tiled, x, y, static_cast<uint16_t>(plane), input);
          const tmsize_t row_bytes = tiled ? TIFFTileRowSize(tiff) : TIFFScanlineSize(tiff);
          check(row_bytes > 0 && row_bytes * static_cast<tmsize_t>(rows) <= piece_bytes, "TIFF: rows of {} bytes",
                row_bytes);
          unpack(page, plane, x, std::min(piece_width, page.width - x), rows, static_cast<size_t>(row_bytes));
        }
      }
      for (uint32_t row = std::max(y, first); row < std::min(y + rows, end); ++row) {
        put_row(static_cast<int>(row), &band_[size_t{row - y} * page.width * static_cast<size_t>(used)], page, sink);
      }
    }
  }

  void read_piece(TIFF* tiff, bool tiled, uint32_t x, uint32_t y, uint16_t plane, TiffInput& input) {
    const tmsize_t size = static_cast<tmsize_t>(piece_.size());
    std::fill(piece_.begin(), piece_.end(),
              uint8_t{0});  // libtiff may leave out what is damaged, or the short last rows
    const tmsize_t done = tiled ? TIFFReadEncodedTile(tiff, TIFFComputeTile(tiff, x, y, 0, plane), piece_.data(), size)
                                : TIFFReadEncodedStrip(tiff, TIFFComputeStrip(tiff, y, plane), piece_.data(), size);
    check(done >= 0, "TIFF: {}", input.error[0] ? input.error : "the image data is damaged");
  }

  // The used samples of a piece into band_, scaled to 16 bits.
  void unpack(const TiffPage& page, int plane, uint32_t x, uint32_t width, uint32_t rows, size_t row_bytes) {
    const SampleReader read(page);
    const bool separate = page.planar == PLANARCONFIG_SEPARATE;
    const size_t used = static_cast<size_t>(used_samples(page));
    const size_t stored = separate ? 1 : page.samples;
    check((size_t{width} * stored * page.bits + 7) / 8 <= row_bytes, "TIFF: rows of only {} bytes", row_bytes);
    for (uint32_t row = 0; row < rows; ++row) {
      const uint8_t* in = piece_.data() + row * row_bytes;
      uint16_t* out = &band_[(size_t{row} * page.width + x) * used];
      for (size_t i = 0; i < width; ++i, out += used) {
        if (separate) {
          out[plane] = read(in, i);
        } else {
          for (size_t c = 0; c < used; ++c) out[c] = read(in, i * stored + c);
        }
      }
    }
  }

  void read_colormap(TIFF* tiff, const TiffPage& page) {
    if (page.photometric != PHOTOMETRIC_PALETTE) return;
    uint16_t* maps[3] = {};
    check(page.bits <= 16 && TIFFGetField(tiff, TIFFTAG_COLORMAP, &maps[0], &maps[1], &maps[2]) == 1,
          "TIFF: a palette image without palette");
    const size_t entries = size_t{1} << page.bits;
    // Some writers fill the 16-bit table with 8-bit values.
    bool wide = false;
    for (const uint16_t* map : maps) wide |= std::any_of(map, map + entries, [](uint16_t v) { return v > 255; });
    colormap_.resize(entries * 3);
    for (size_t i = 0; i < entries * 3; ++i) {
      const uint16_t value = maps[i % 3][i / 3];
      colormap_[i] = static_cast<uint8_t>(wide ? value >> 8 : value);
    }
  }

  void begin(const TiffPage& page, RowSink& sink) {
    constexpr PixelLayout kLayouts[] = {PixelLayout::kGray, PixelLayout::kGrayAlpha, PixelLayout::kRgb,
                                        PixelLayout::kRgba};
    const bool bytes =
        page.bits <= 8 || page.photometric == PHOTOMETRIC_PALETTE || page.photometric == PHOTOMETRIC_SEPARATED;
    sink.begin(kLayouts[output_channels(page) - 1], bytes ? DType::kUInt8 : DType::kUInt16);
    row_.resize(size_t{page.width} * 4);
  }

  // A row of 16-bit samples: inverted, looked up or converted from CMYK, as bytes unless it has more than 8 bits.
  void put_row(int y, uint16_t* samples, const TiffPage& page, RowSink& sink) {
    const size_t count = size_t{page.width} * static_cast<size_t>(used_samples(page));
    if (page.photometric == PHOTOMETRIC_PALETTE) {
      for (size_t i = 0; i < page.width; ++i) std::memcpy(&row_[i * 3], &colormap_[size_t{samples[i]} * 3], 3);
      sink.put_whole(y, row_.data());
      return;
    }
    if (page.photometric == PHOTOMETRIC_MINISWHITE) {
      const size_t step = static_cast<size_t>(used_samples(page));
      for (size_t i = 0; i < count; i += step) samples[i] = static_cast<uint16_t>(65535 - samples[i]);
    }
    if (page.bits > 8 && page.photometric != PHOTOMETRIC_SEPARATED) {
      sink.put_whole(y, samples);
      return;
    }
    convert_samples(DType::kUInt16, DType::kUInt8, samples, row_.data(), static_cast<int64_t>(count));
    if (page.photometric == PHOTOMETRIC_SEPARATED) {
      cmyk_to_rgb(row_.data(), row_.data(), static_cast<int>(page.width), /*inverted=*/false);
    }
    sink.put_whole(y, row_.data());
  }

  std::vector<uint8_t> piece_;     // a strip or tile as libtiff gives it
  std::vector<uint16_t> band_;     // samples of a row of strips or tiles
  std::vector<uint8_t> row_;       // converted
  std::vector<uint8_t> colormap_;  // RGB
  std::vector<uint32_t> raster_;   // libtiff's conversion
};

}  // namespace

ImageHeader read_tiff_header(Bytes bytes) {
  TiffInput input{.bytes = bytes};
  const TiffHandle tiff = open_tiff(input);
  const TiffPage page = read_page(tiff.get(), bytes.size());
  ImageHeader header;
  header.width = static_cast<int>(page.width);
  header.height = static_cast<int>(page.height);
  header.channels = output_channels(page);
  header.bit_depth = page.by_libtiff ? 8 : std::min<int>(page.bits, 16);
  header.orientation = page.orientation >= 1 && page.orientation <= 8 ? page.orientation : 1;
  return header;
}

std::unique_ptr<FormatDecoder> make_tiff_decoder() { return std::make_unique<TiffDecoder>(); }

}  // namespace headrace
#endif
