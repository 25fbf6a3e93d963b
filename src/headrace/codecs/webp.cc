// WebP decoder over libwebp: lossy, lossless, alpha; of an animation the first frame.
#if HEADRACE_HAVE_WEBP
#include <webp/decode.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "codecs/byte_reader.h"
#include "codecs/exif.h"
#include "codecs/format_decoder.h"

namespace headrace {
namespace {

constexpr size_t kRiffHeaderBytes = 12;
constexpr size_t kFrameHeaderBytes = 16;  // of a chunk ANMF, before the frame's own chunks

// The data of the first chunk with this four-letter name; empty if there is none.
Bytes find_chunk(Bytes bytes, std::string_view name) {
  size_t at = kRiffHeaderBytes;
  while (has_bytes(bytes, at, 8)) {
    const size_t length = load_le32(&bytes[at + 4]);
    if (!has_bytes(bytes, at + 8, length)) break;
    if (std::memcmp(&bytes[at], name.data(), 4) == 0) return bytes.subspan(at + 8, length);
    at += 8 + length + length % 2;
  }
  return {};
}

std::string_view status_text(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return "out of memory";
    case VP8_STATUS_UNSUPPORTED_FEATURE: return "unsupported feature";
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA: return "the data ends too early";
    default: return "the data is damaged";
  }
}

void check_status(VP8StatusCode status) { check(status == VP8_STATUS_OK, "WebP: {}", status_text(status)); }

WebPBitstreamFeatures features_of(Bytes bytes) {
  WebPBitstreamFeatures features;
  check_status(WebPGetFeatures(bytes.data(), bytes.size(), &features));
  return features;
}

uint32_t load_le24(const uint8_t* p) { return static_cast<uint32_t>(load_le16(p)) | static_cast<uint32_t>(p[2]) << 16; }

class WebpDecoder final : public FormatDecoder {
 public:
  void decode(Bytes bytes, const ImageHeader& header, const ImageDecodeOptions&, RowSink& sink) override {
    const bool alpha = header.channels == 4;
    sink.begin(alpha ? PixelLayout::kRgba : PixelLayout::kRgb, DType::kUInt8);
    const size_t stride = static_cast<size_t>(header.width) * sink.pixel_bytes();
    const ImageRegion& region = sink.region();
    if (features_of(bytes).has_animation) {
      image_.assign(stride * static_cast<size_t>(header.height), 0);
      decode_first_frame(bytes, header, alpha);
    } else {
      const bool whole = region.width == header.width && region.height == header.height;
      if (uint8_t* out = whole ? sink.all_in_place() : nullptr) {
        decode_into(bytes, header, alpha, out, stride);
        return;
      }
      image_.resize(stride * static_cast<size_t>(header.height));
      decode_into(bytes, header, alpha, image_.data(), stride);
    }
    for (int y = region.y; y < region.y + region.height; ++y) {
      sink.put_whole(y, image_.data() + static_cast<size_t>(y) * stride);
    }
  }

 private:
  static void decode_into(Bytes bytes, const ImageHeader& header, bool alpha, uint8_t* out, size_t stride) {
    WebPDecoderConfig config;
    check_internal(WebPInitDecoderConfig(&config) != 0, "WebP: the library's version differs from its header's");
    config.output.colorspace = alpha ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = out;
    config.output.u.RGBA.stride = static_cast<int>(stride);
    config.output.u.RGBA.size = stride * static_cast<size_t>(header.height);
    check_status(WebPGetFeatures(bytes.data(), bytes.size(), &config.input));
    check(config.input.width == header.width && config.input.height == header.height,
          "WebP: the header given is not that of the data");
    check_status(WebPDecode(bytes.data(), bytes.size(), &config));
  }

  // The first frame on a transparent black canvas.
  void decode_first_frame(Bytes bytes, const ImageHeader& header, bool alpha) {
    const Bytes frame = find_chunk(bytes, "ANMF");
    check(frame.size() > kFrameHeaderBytes, "WebP: an animation without a frame");
    const size_t x = load_le24(&frame[0]) * 2;
    const size_t y = load_le24(&frame[3]) * 2;
    ImageHeader frame_header = header;
    frame_header.width = static_cast<int>(load_le24(&frame[6])) + 1;
    frame_header.height = static_cast<int>(load_le24(&frame[9])) + 1;
    check(x + static_cast<size_t>(frame_header.width) <= static_cast<size_t>(header.width) &&
              y + static_cast<size_t>(frame_header.height) <= static_cast<size_t>(header.height),
          "WebP: the first frame exceeds the canvas");
    const size_t pixel = alpha ? 4 : 3;
    const size_t stride = static_cast<size_t>(header.width) * pixel;
    const size_t frame_stride = static_cast<size_t>(frame_header.width) * pixel;
    frame_.resize(frame_stride * static_cast<size_t>(frame_header.height));
    decode_into(frame.subspan(kFrameHeaderBytes), frame_header, alpha, frame_.data(), frame_stride);
    constexpr uint8_t kDoNotBlend = 2;
    if (alpha && !(frame[15] & kDoNotBlend)) clear_transparent(frame_);
    for (size_t row = 0; row < static_cast<size_t>(frame_header.height); ++row) {
      std::memcpy(&image_[(y + row) * stride + x * pixel], &frame_[row * frame_stride], frame_stride);
    }
  }

  // Blended over the canvas, a fully transparent pixel leaves it as it is.
  static void clear_transparent(std::vector<uint8_t>& rgba) {
    for (size_t i = 0; i < rgba.size(); i += 4) {
      if (rgba[i + 3] == 0) std::memset(&rgba[i], 0, 4);
    }
  }

  std::vector<uint8_t> image_;
  std::vector<uint8_t> frame_;
};

}  // namespace

ImageHeader read_webp_header(Bytes bytes) {
  const WebPBitstreamFeatures features = features_of(bytes);
  // An entropy-coded WebP may be of any ratio, but not larger than 16383 x 16383.
  check_plausible_size("WebP", features.width, features.height, bytes.size(), 65536);
  ImageHeader header;
  header.width = features.width;
  header.height = features.height;
  header.channels = features.has_alpha ? 4 : 3;
  header.orientation = exif_orientation(find_chunk(bytes, "EXIF"));
  return header;
}

std::unique_ptr<FormatDecoder> make_webp_decoder() { return std::make_unique<WebpDecoder>(); }

}  // namespace headrace
#endif
