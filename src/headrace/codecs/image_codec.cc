// Image codecs behind one interface: detection by content, the table of formats, dispatch.
#include "codecs/image_codec.h"

#include <cstring>

#include "codecs/byte_reader.h"
#include "codecs/format_decoder.h"
#include "codecs/pixel_convert.h"

namespace headrace {
namespace {

// In the order of ImageFormat.
constexpr std::array<FormatEntry, kImageFormats> kFormats = {{
    {"unknown", nullptr, nullptr},
    {"JPEG", read_jpeg_header, make_jpeg_decoder},
    {"PNG", read_png_header, make_png_decoder},
    {"BMP", read_bmp_header, make_bmp_decoder},
    {"PNM", read_pnm_header, make_pnm_decoder},
#if HEADRACE_HAVE_TIFF
    {"TIFF", read_tiff_header, make_tiff_decoder},
#else
    {"TIFF", nullptr, nullptr},
#endif
#if HEADRACE_HAVE_WEBP
    {"WebP", read_webp_header, make_webp_decoder},
#else
    {"WebP", nullptr, nullptr},
#endif
#if HEADRACE_HAVE_OPENJPEG
    {"JPEG 2000", read_jpeg2000_header, make_jpeg2000_decoder},
#else
    {"JPEG 2000", nullptr, nullptr},
#endif
    {"GIF", nullptr, nullptr},
}};

const FormatEntry& entry_of(ImageFormat format) { return kFormats[static_cast<size_t>(format)]; }

bool starts_with(Bytes bytes, std::string_view magic, size_t at = 0) {
  return has_bytes(bytes, at, magic.size()) && std::memcmp(bytes.data() + at, magic.data(), magic.size()) == 0;
}

// The first bytes as hexadecimal, for messages.
std::string first_bytes(Bytes bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size() && i < 8; ++i) text += fmt::format("{}{:02x}", i ? " " : "", bytes[i]);
  return text;
}

const FormatEntry& usable_entry(ImageFormat format) {
  const FormatEntry& entry = entry_of(format);
  if (!entry.read_header) fail(ErrorKind::kUnsupported, "image decoder: headrace was built without {}", entry.name);
  return entry;
}

}  // namespace

std::string_view image_format_name(ImageFormat format) { return entry_of(format).name; }

bool image_format_built(ImageFormat format) { return entry_of(format).read_header != nullptr; }

ImageFormat detect_image_format(Bytes bytes) {
  using namespace std::string_view_literals;
  if (starts_with(bytes, "\xff\xd8\xff"sv)) return ImageFormat::kJpeg;
  if (starts_with(bytes, "\x89PNG\r\n\x1a\n"sv)) return ImageFormat::kPng;
  if (starts_with(bytes, "II*\0"sv) || starts_with(bytes, "MM\0*"sv)) return ImageFormat::kTiff;
  if (starts_with(bytes, "II+\0"sv) || starts_with(bytes, "MM\0+"sv)) return ImageFormat::kTiff;
  if (starts_with(bytes, "RIFF"sv) && starts_with(bytes, "WEBP"sv, 8)) return ImageFormat::kWebp;
  if (starts_with(bytes, "\0\0\0\x0cjP  \r\n\x87\n"sv)) return ImageFormat::kJpeg2000;
  if (starts_with(bytes, "\xff\x4f\xff\x51"sv)) return ImageFormat::kJpeg2000;
  if (starts_with(bytes, "GIF87a"sv) || starts_with(bytes, "GIF89a"sv)) return ImageFormat::kGif;
  if (starts_with(bytes, "BM"sv)) return ImageFormat::kBmp;
  if (bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' &&
      std::strchr(" \t\r\n\v\f#", bytes[2]) && bytes[2]) {
    return ImageFormat::kPnm;
  }
  return ImageFormat::kUnknown;
}

void check_plausible_size(std::string_view format, int64_t width, int64_t height, size_t bytes,
                          int64_t pixels_per_byte) {
  constexpr int64_t kAlwaysPlausible = int64_t{1} << 24;
  constexpr int64_t kLargestExtent = int64_t{1} << 30;
  check(width > 0 && height > 0 && width <= kLargestExtent && height <= kLargestExtent,
        "{}: the header claims an image of {} x {} pixels", format, width, height);
  check(width * height <= kAlwaysPlausible || width * height / pixels_per_byte <= static_cast<int64_t>(bytes),
        "{}: the header claims {} x {} pixels, more than {} bytes can hold", format, width, height, bytes);
}

ImageHeader read_image_header(Bytes bytes) {
  const ImageFormat format = detect_image_format(bytes);
  check(!bytes.empty(), "image decoder: the data is empty");
  if (format == ImageFormat::kUnknown) {
    fail(ErrorKind::kRuntime, "image decoder: {} bytes of no known image format (they begin with {})", bytes.size(),
         first_bytes(bytes));
  }
  if (format == ImageFormat::kGif) fail(ErrorKind::kUnsupported, "image decoder: GIF is not supported");
  ImageHeader header = usable_entry(format).read_header(bytes);
  header.format = format;
  return header;
}

Shape decoded_image_shape(const ImageHeader& header, const ImageDecodeOptions& options) {
  const bool swap = options.adjust_orientation && header.orientation >= 5;
  const int channels = options.color == ImageColor::kAny ? header.channels : color_channels(options.color);
  return {swap ? header.width : header.height, swap ? header.height : header.width, channels};
}

ImageDecoder::ImageDecoder() : scratch_(std::make_unique<DecodeScratch>()) {}
ImageDecoder::~ImageDecoder() = default;

ImageDecoderNumber ImageDecoder::decode(Bytes bytes, const ImageHeader& header, const ImageDecodeOptions& options,
                                        void* out) {
  const FormatEntry& entry = usable_entry(header.format);
  RowSink sink(header, options, out, *scratch_);
  const auto format = static_cast<ImageDecoderNumber>(header.format);
  if (sink.empty()) return format;
  std::unique_ptr<FormatDecoder>& decoder = decoders_[static_cast<size_t>(header.format)];
  if (!decoder) decoder = entry.make_decoder();
  decoder->decode(bytes, header, options, sink);
  return decoder->used_libjpeg_turbo() ? kTurboJpegDecoder : format;
}

std::string_view image_decoder_name(ImageDecoderNumber decoder) {
  static constexpr std::array<std::string_view, kImageDecoders> kNames = {
      "unknown", "jpeg", "png", "bmp", "pnm", "tiff", "webp", "jpeg2000", "gif", "jpeg_by_libjpeg_turbo"};
  return kNames[static_cast<size_t>(decoder)];
}

}  // namespace headrace
