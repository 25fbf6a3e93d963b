// Image codecs behind one interface: what is in the bytes (read_header), what comes out (decoded_shape), the pixels
// (ImageDecoder). The kind of file is told by its content, never by a name.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/dtype.h"
#include "core/shape.h"

namespace headrace {

struct EntropyIndex;  // codecs/entropy_index.h

enum class ImageFormat : uint8_t { kUnknown, kJpeg, kPng, kBmp, kPnm, kTiff, kWebp, kJpeg2000, kGif };
inline constexpr int kImageFormats = 9;

// "JPEG", "PNG", ...; "unknown".
std::string_view image_format_name(ImageFormat format);

// Looks at the first bytes only: the rest of the file may still be anything.
ImageFormat detect_image_format(std::span<const uint8_t> bytes);

// Whether this build can decode the format.
bool image_format_built(ImageFormat format);

struct ImageHeader {
  ImageFormat format = ImageFormat::kUnknown;
  int width = 0;  // as stored, before the orientation is applied
  int height = 0;
  int channels = 0;     // after palette and CMYK are expanded: 1 gray, 2 gray + alpha, 3 RGB, 4 RGB + alpha
  int bit_depth = 8;    // bits of a sample, 1..16
  int orientation = 1;  // EXIF: 1..8
};

// Reads the header without decoding pixels: a few hundred bytes are touched, whatever the file's size. Errors: bytes of
// no known format, a format this build lacks (kUnsupported), a damaged header, and more pixels than so few bytes can
// hold (see check_plausible_size), so that the extents are safe to allocate for.
ImageHeader read_image_header(std::span<const uint8_t> bytes);

// The numbers are those of DALI's DALIImageType.
enum class ImageColor : uint8_t { kRgb = 0, kBgr = 1, kGray = 2, kYCbCr = 3, kAny = 4 };

struct ImageRegion {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

struct ImageDecodeOptions {
  ImageColor color = ImageColor::kRgb;  // kAny: the channels that the header states
  DType dtype = DType::kUInt8;          // u8 i8 u16 i16 u32 i32 f32; values are scaled to its range, f32 to [0, 1]
  bool adjust_orientation = true;       // turn and mirror as EXIF says
  std::optional<ImageRegion> roi = {};  // in output pixels, after the orientation; must lie inside the image
  bool use_fast_idct = false;           // JPEG: quicker, off by some levels
  EntropyIndex* index = nullptr;        // JPEG: decoding begins where the region needs it, and adds what it finds
};

// Whether decoders can give `dtype`.
bool is_image_dtype(DType dtype);

// Shape (H, W, C) of the decoded image, oriented, before a region is cut.
Shape decoded_image_shape(const ImageHeader& header, const ImageDecodeOptions& options);

// Who decoded an image, for statistics: most formats have one decoder each, JPEG has two.
using ImageDecoderNumber = int;
inline constexpr ImageDecoderNumber kTurboJpegDecoder = kImageFormats;
inline constexpr int kImageDecoders = kImageFormats + 1;
// "jpeg" for our own, "jpeg_by_libjpeg_turbo", "png", ...
std::string_view image_decoder_name(ImageDecoderNumber decoder);

class FormatDecoder;
struct DecodeScratch;

// Decodes images of any format. One per worker thread: the libraries' states and scratch memory live as long as it
// does, so that the steady state of JPEG (but lossless), PNG, BMP and PNM allocates nothing.
class ImageDecoder {
 public:
  ImageDecoder();
  ~ImageDecoder();
  ImageDecoder(const ImageDecoder&) = delete;
  ImageDecoder& operator=(const ImageDecoder&) = delete;

  // Writes the image, or options.roi of it, densely as HWC of options.dtype to `out`, which must hold the shape of
  // decoded_image_shape with height and width of the region. `header` is what read_image_header gave for `bytes`.
  // Only the rows and columns needed are decoded where the format allows; the result equals the slice of the full
  // image. Truncated or corrupt data is an error, never a partial image; the decoder stays usable and `out` is
  // undefined. Returns who decoded it.
  ImageDecoderNumber decode(std::span<const uint8_t> bytes, const ImageHeader& header,
                            const ImageDecodeOptions& options, void* out);

 private:
  std::array<std::unique_ptr<FormatDecoder>, kImageFormats> decoders_;
  std::unique_ptr<DecodeScratch> scratch_;
};

}  // namespace headrace
