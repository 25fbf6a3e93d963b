// What a format implements: a header reader and a decoder that delivers rows. Internal to codecs/.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "codecs/image_codec.h"
#include "codecs/row_sink.h"

namespace headrace {

class FormatDecoder {
 public:
  virtual ~FormatDecoder() = default;

  // Calls sink.begin once, then sink.put for every row of sink.region() from top to bottom.
  virtual void decode(std::span<const uint8_t> bytes, const ImageHeader& header, const ImageDecodeOptions& options,
                      RowSink& sink) = 0;
  // Of the last image. Only JPEG has a choice.
  virtual bool used_libjpeg_turbo() const { return false; }
};

struct FormatEntry {
  std::string_view name;
  ImageHeader (*read_header)(std::span<const uint8_t> bytes);  // null: not built
  std::unique_ptr<FormatDecoder> (*make_decoder)();
};

// Throws unless `bytes` can hold `width` x `height` pixels when a byte of the file holds `pixels_per_byte` at most
// (each format knows its own bound). Images up to 2^24 pixels always pass, so that formats without a bound can use a
// generous one. Also refuses extents below 1.
void check_plausible_size(std::string_view format, int64_t width, int64_t height, size_t bytes,
                          int64_t pixels_per_byte);

ImageHeader read_jpeg_header(std::span<const uint8_t> bytes);
std::unique_ptr<FormatDecoder> make_jpeg_decoder();

// Who decodes the JPEG files that both can: libjpeg-turbo, or codecs/jpeg with libjpeg-turbo for all others. Same
// pixels.
enum class JpegBackend : uint8_t { kTurbo, kOwn };
std::unique_ptr<FormatDecoder> make_jpeg_decoder(JpegBackend backend);

ImageHeader read_png_header(std::span<const uint8_t> bytes);
std::unique_ptr<FormatDecoder> make_png_decoder();
ImageHeader read_bmp_header(std::span<const uint8_t> bytes);
std::unique_ptr<FormatDecoder> make_bmp_decoder();
ImageHeader read_pnm_header(std::span<const uint8_t> bytes);
std::unique_ptr<FormatDecoder> make_pnm_decoder();
#if HEADRACE_HAVE_TIFF
ImageHeader read_tiff_header(std::span<const uint8_t> bytes);
std::unique_ptr<FormatDecoder> make_tiff_decoder();
#endif
#if HEADRACE_HAVE_WEBP
ImageHeader read_webp_header(std::span<const uint8_t> bytes);
std::unique_ptr<FormatDecoder> make_webp_decoder();
#endif
#if HEADRACE_HAVE_OPENJPEG
ImageHeader read_jpeg2000_header(std::span<const uint8_t> bytes);
std::unique_ptr<FormatDecoder> make_jpeg2000_decoder();
#endif

}  // namespace headrace
