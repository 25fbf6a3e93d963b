// PNM decoder of our own: bitmaps, gray and colour maps, plain and raw (P1 to P6), samples up to 65535.
#include <cstring>
#include <vector>

#include "codecs/byte_reader.h"
#include "codecs/format_decoder.h"

namespace headrace {
namespace {

bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

// Reads the numbers of a header or of plain samples.
class Scanner {
 public:
  Scanner(Bytes bytes, size_t at) : bytes_(bytes), at_(at) {}

  size_t at() const { return at_; }

  int number(const char* what, int64_t largest) {
    skip_space();
    check(at_ < bytes_.size() && is_digit(bytes_[at_]), "PNM: no {} at offset {} of {}", what, at_, bytes_.size());
    int64_t value = 0;
    while (at_ < bytes_.size() && is_digit(bytes_[at_])) {
      value = value * 10 + (bytes_[at_++] - '0');
      check(value <= largest, "PNM: {} above {}", what, largest);
    }
    return static_cast<int>(value);
  }

  // A digit of a plain bitmap, which needs no space around it.
  int bit() {
    skip_space();
    check(at_ < bytes_.size() && (bytes_[at_] == '0' || bytes_[at_] == '1'), "PNM: no bit at offset {} of {}", at_,
          bytes_.size());
    return bytes_[at_++] - '0';
  }

  // The single space between a header and raw samples.
  void end_header() {
    check(at_ < bytes_.size() && is_space(bytes_[at_]), "PNM: the header ends without a space");
    ++at_;
  }

 private:
  void skip_space() {
    while (at_ < bytes_.size()) {
      if (bytes_[at_] == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n' && bytes_[at_] != '\r') ++at_;
      } else if (is_space(bytes_[at_])) {
        ++at_;
      } else {
        return;
      }
    }
  }

  Bytes bytes_;
  size_t at_;
};

struct PnmHeader {
  bool plain, bitmap;
  int width, height, channels, largest;
  size_t samples_at;
};

PnmHeader parse(Bytes bytes) {
  const char kind = static_cast<char>(bytes[1]);
  PnmHeader h{};
  h.plain = kind <= '3';
  h.bitmap = kind == '1' || kind == '4';
  h.channels = kind == '3' || kind == '6' ? 3 : 1;
  Scanner scanner(bytes, 2);
  h.width = scanner.number("width", INT32_MAX);
  h.height = scanner.number("height", INT32_MAX);
  h.largest = h.bitmap ? 1 : scanner.number("largest value", 65535);
  check(h.largest > 0, "PNM: the largest value is 0");
  check_plausible_size("PNM", h.width, h.height, bytes.size(), h.bitmap && !h.plain ? 8 : 1);
  if (!h.plain) scanner.end_header();
  h.samples_at = scanner.at();
  return h;
}

class PnmDecoder final : public FormatDecoder {
 public:
  void decode(Bytes bytes, const ImageHeader& header, const ImageDecodeOptions&, RowSink& sink) override {
    const PnmHeader h = parse(bytes);
    check(h.width == header.width && h.height == header.height, "PNM: the header given is not that of the data");
    sink.begin(h.channels == 3 ? PixelLayout::kRgb : PixelLayout::kGray,
               h.largest > 255 ? DType::kUInt16 : DType::kUInt8);
    row_.resize(static_cast<size_t>(h.width) * sink.pixel_bytes());
    if (h.plain) {
      put_plain(bytes, h, sink);
    } else {
      put_raw(bytes, h, sink);
    }
  }

 private:
  void store(size_t i, int sample, const PnmHeader& h) {
    check(sample <= h.largest, "PNM: a sample of {} above the largest value {}", sample, h.largest);
    if (h.bitmap) {
      row_[i] = sample ? 0 : 255;
    } else if (h.largest > 255) {
      const uint16_t scaled = static_cast<uint16_t>((int64_t{sample} * 65535 + h.largest / 2) / h.largest);
      std::memcpy(&row_[i * 2], &scaled, 2);
    } else {
      row_[i] = static_cast<uint8_t>((sample * 255 + h.largest / 2) / h.largest);
    }
  }

  void put_plain(Bytes bytes, const PnmHeader& h, RowSink& sink) {
    Scanner scanner(bytes, h.samples_at);
    const ImageRegion& region = sink.region();
    const size_t per_row = static_cast<size_t>(h.width) * static_cast<size_t>(h.channels);
    for (int y = 0; y < region.y + region.height; ++y) {
      for (size_t i = 0; i < per_row; ++i) store(i, h.bitmap ? scanner.bit() : scanner.number("sample", h.largest), h);
      if (y >= region.y) sink.put_whole(y, row_.data());
    }
  }

  void put_raw(Bytes bytes, const PnmHeader& h, RowSink& sink) {
    const size_t per_row = static_cast<size_t>(h.width) * static_cast<size_t>(h.channels);
    const size_t row_bytes = h.bitmap ? (per_row + 7) / 8 : per_row * (h.largest > 255 ? 2 : 1);
    check(has_bytes(bytes, h.samples_at, row_bytes * static_cast<size_t>(h.height)),
          "PNM: only {} of {} bytes of samples", bytes.size() - h.samples_at,
          row_bytes * static_cast<size_t>(h.height));
    const ImageRegion& region = sink.region();
    for (int y = region.y; y < region.y + region.height; ++y) {
      const uint8_t* row = &bytes[h.samples_at + static_cast<size_t>(y) * row_bytes];
      if (h.largest == 255) {
        sink.put_whole(y, row);
        continue;
      }
      for (size_t i = 0; i < per_row; ++i) {
        const int sample = h.bitmap ? row[i / 8] >> (7 - i % 8) & 1 : h.largest > 255 ? load_be16(row + i * 2) : row[i];
        store(i, sample, h);
      }
      sink.put_whole(y, row_.data());
    }
  }

  std::vector<uint8_t> row_;
};

}  // namespace

ImageHeader read_pnm_header(Bytes bytes) {
  const PnmHeader h = parse(bytes);
  ImageHeader header;
  header.width = h.width;
  header.height = h.height;
  header.channels = h.channels;
  header.bit_depth = h.bitmap ? 1 : h.largest > 255 ? 16 : 8;
  return header;
}

std::unique_ptr<FormatDecoder> make_pnm_decoder() { return std::make_unique<PnmDecoder>(); }

}  // namespace headrace
