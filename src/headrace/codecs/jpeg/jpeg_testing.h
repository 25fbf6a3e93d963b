// What the tests of the JPEG decoder share: encoding with libjpeg, decoding by either decoder alone.
#pragma once

#include <memory>
#include <optional>

#include "codecs/codec_testing.h"
#include "codecs/entropy_index.h"
#include "codecs/format_decoder.h"
#include "codecs/jpeg/decoder.h"
#include "core/error.h"

namespace headrace::jpeg {

using testing_images::ByteVector;

struct Encoding {
  int width = 16;
  int height = 16;
  int components = 3;
  int h = 1;  // sampling of the first component
  int v = 1;
  int quality = 85;
  int restart = 0;
  bool rgb = false;
  bool ycck = false;      // of four components; else CMYK
  bool optimize = false;  // Huffman tables of its own
  uint32_t seed = 1;
};

// Waves, noise and saturated patches: pixels of e.components bytes.
ByteVector test_image(const Encoding& e);

// The pixels as a JPEG file, by libjpeg.
ByteVector encode(const Encoding& e, const ByteVector& pixels);

// An index that decoding adds to, over several times.
class GrowingIndex {
 public:
  EntropyIndex* use() {
    index_.known = points_;
    index_.found.clear();
    return &index_;
  }
  // After decoding: keeps what it found.
  void grow() { points_.insert(points_.end(), index_.found.begin(), index_.found.end()); }
  int size() const { return index_.size; }
  const std::vector<EntropyPoint>& points() const { return points_; }

 private:
  std::vector<EntropyPoint> points_;
  EntropyIndex index_;
};

inline ByteVector encode(const Encoding& e) { return encode(e, test_image(e)); }

// Both decoders side by side, each without the other.
class Pair {
 public:
  // libjpeg-turbo's pixels; none if it refuses. The header must be readable.
  std::optional<ByteVector> turbo(std::span<const uint8_t> bytes, const ImageDecodeOptions& options = {}) {
    return run(bytes, options, [&](const ImageHeader& header, RowSink& sink) {
      turbo_->decode(bytes, header, options, sink);
      return true;
    });
  }

  // Our own pixels; none if the decoder passes the file on.
  std::optional<ByteVector> own(std::span<const uint8_t> bytes, const ImageDecodeOptions& options = {}) {
    return run(bytes, options,
               [&](const ImageHeader& header, RowSink& sink) { return own_.decode(bytes, header, options, sink); });
  }

 private:
  template <typename Decode>
  std::optional<ByteVector> run(std::span<const uint8_t> bytes, const ImageDecodeOptions& options, Decode decode) {
    try {
      const ImageHeader header = read_image_header(bytes);
      Shape shape = decoded_image_shape(header, options);
      if (options.roi) shape[0] = options.roi->height, shape[1] = options.roi->width;
      ByteVector out(static_cast<size_t>(shape.volume()));
      RowSink sink(header, options, out.data(), scratch_);
      if (!decode(header, sink)) return std::nullopt;
      return out;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  std::unique_ptr<FormatDecoder> turbo_ = make_jpeg_decoder(JpegBackend::kTurbo);
  Decoder own_;
  DecodeScratch scratch_;
};

}  // namespace headrace::jpeg
