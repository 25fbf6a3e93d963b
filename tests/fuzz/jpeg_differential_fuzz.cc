// Fuzz target: headrace's own JPEG decoder against libjpeg-turbo: what the former decodes, the latter gives as well.
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "codecs/format_decoder.h"
#include "codecs/jpeg/decoder.h"
#include "decode_image.h"

namespace headrace::fuzz {
namespace {

[[noreturn]] void report(const char* what) {
  std::fprintf(stderr, "own JPEG decoder: %s\n", what);
  std::abort();
}

void compare(std::span<const uint8_t> bytes) {
  static jpeg::Decoder own;
  static const std::unique_ptr<FormatDecoder> turbo = make_jpeg_decoder(JpegBackend::kTurbo);
  static DecodeScratch scratch;
  constexpr int64_t kLargestImage = 1 << 20;
  std::optional<std::vector<uint8_t>> mine;
  try {
    const ImageHeader header = read_image_header(bytes);
    if (decoded_image_shape(header, {}).volume() > kLargestImage) return;
    uint32_t choice = 2166136261u;
    for (const uint8_t byte : bytes.last(std::min<size_t>(bytes.size(), 16))) choice = (choice ^ byte) * 16777619u;
    const ImageDecodeOptions options = options_from(choice, decoded_image_shape(header, {}));
    Shape shape = decoded_image_shape(header, options);
    if (options.roi) shape[0] = options.roi->height, shape[1] = options.roi->width;
    std::vector<uint8_t> out(static_cast<size_t>(shape.volume()) * dtype_size(options.dtype));
    RowSink sink(header, options, out.data(), scratch);
    if (sink.empty() || !own.decode(bytes, header, options, sink)) return;
    mine = out;
    RowSink again(header, options, out.data(), scratch);
    turbo->decode(bytes, header, options, again);
    if (out != *mine) report("other pixels");
  } catch (const Error&) {
    if (mine) report("decoded what libjpeg-turbo refuses");
  }
}

}  // namespace
}  // namespace headrace::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  if (headrace::detect_image_format(bytes) == headrace::ImageFormat::kJpeg) headrace::fuzz::compare(bytes);
  return 0;
}
