// Lossless JPEG: Huffman-coded differences to a prediction from the neighbours.
#include "codecs/jpeg_lossless.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "codecs/jpeg_markers.h"

namespace headrace {
namespace {

using namespace jpeg;

struct Segment {
  uint8_t marker = 0;
  Bytes payload;
  size_t next = 0;
};

// The next marker segment at or after `at`; false at the end of the data or of the image.
bool next_segment(Bytes bytes, size_t at, Segment& segment) {
  while (at + 1 < bytes.size()) {
    const uint8_t marker = bytes[at + 1];
    const bool stands_alone = marker <= 0x01 || marker == 0xff || (marker >= 0xd0 && marker <= 0xd8);
    if (bytes[at] != 0xff || stands_alone) {
      ++at;
      continue;
    }
    if (marker == kEndOfImage || !has_bytes(bytes, at + 2, 2)) return false;
    const size_t length = load_be16(&bytes[at + 2]);
    if (length < 2 || !has_bytes(bytes, at + 2, length)) return false;
    segment = {marker, bytes.subspan(at + 4, length - 2), at + 2 + length};
    return true;
  }
  return false;
}

// A Huffman table by code length (T.81, annex F.2.2.3).
struct HuffmanTable {
  std::array<int, 17> largest{};  // largest code of each length, -1 if there is none
  std::array<int, 17> offset{};   // index of a code's value, less the code
  std::array<uint8_t, 256> values{};
  bool defined = false;
};

// The entropy-coded bits of a scan.
class BitReader {
 public:
  BitReader(Bytes bytes, size_t at) : bytes_(bytes), at_(at) {}

  size_t at() const { return at_; }

  int bit() {
    if (count_ == 0) load_byte();
    return byte_ >> --count_ & 1;
  }

  int bits(int n) {
    int value = 0;
    for (int i = 0; i < n; ++i) value = value << 1 | bit();
    return value;
  }

  int symbol(const HuffmanTable& table) {
    int code = 0;
    for (size_t length = 1; length <= 16; ++length) {
      code = code << 1 | bit();
      if (code <= table.largest[length]) return table.values[static_cast<size_t>(table.offset[length] + code)];
    }
    fail(ErrorKind::kRuntime, "JPEG: a bad Huffman code in lossless data");
  }

  void restart() {
    count_ = 0;
    check(has_bytes(bytes_, at_, 2) && bytes_[at_] == 0xff && (bytes_[at_ + 1] & 0xf8) == 0xd0,
          "JPEG: a restart marker is missing in lossless data");
    at_ += 2;
  }

 private:
  void load_byte() {
    const bool stuffed = has_bytes(bytes_, at_, 2) && bytes_[at_] == 0xff && bytes_[at_ + 1] == 0;
    check(at_ < bytes_.size() && (bytes_[at_] != 0xff || stuffed), "JPEG: the lossless data ends too early");
    byte_ = bytes_[at_];
    at_ += stuffed ? 2 : 1;
    count_ = 8;
  }

  Bytes bytes_;
  size_t at_;
  int byte_ = 0;
  int count_ = 0;
};

// The difference that follows a symbol (T.81, H.1.2.2).
int read_difference(BitReader& reader, const HuffmanTable& table) {
  const int size = reader.symbol(table);
  if (size == 0) return 0;
  if (size == 16) return 32768;
  check(size < 16, "JPEG: a difference of {} bits in lossless data", size);
  const int value = reader.bits(size);
  return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
}

// Predictors of T.81, table H.1; a left, b above, c above left.
int predict(int predictor, int a, int b, int c) {
  switch (predictor) {
    case 1: return a;
    case 2: return b;
    case 3: return c;
    case 4: return a + b - c;
    case 5: return a + ((b - c) >> 1);
    case 6: return b + ((a - c) >> 1);
    default: return (a + b) >> 1;
  }
}

struct Scan {
  std::array<int, 3> components{};  // indices
  std::array<int, 3> tables{};
  int count = 0;
  int predictor = 1;
  int shift = 0;  // point transform
};

class LosslessJpeg {
 public:
  LosslessJpeg(Bytes bytes, const ImageHeader& header, std::vector<uint16_t>& planes)
      : bytes_(bytes),
        width_(static_cast<size_t>(header.width)),
        height_(static_cast<size_t>(header.height)),
        bits_(header.bit_depth),
        planes_(planes) {}

  int components() const { return components_; }
  const uint16_t* row(int component, size_t y) const {
    return planes_.data() + (static_cast<size_t>(component) * height_ + y) * width_;
  }

  void decode() {
    Segment segment;
    unsigned decoded = 0;  // a bit for each component
    for (size_t at = 2; next_segment(bytes_, at, segment); at = segment.next) {
      if (segment.marker == kLosslessFrame) read_frame(segment.payload);
      if (segment.marker == kHuffmanTables) read_tables(segment.payload);
      if (segment.marker == kRestartInterval && segment.payload.size() >= 2) restart_ = load_be16(&segment.payload[0]);
      if (segment.marker == kApp0) jfif_ |= segment.payload.size() >= 5 && !std::memcmp(&segment.payload[0], "JFIF", 5);
      if (segment.marker == kApp14 && segment.payload.size() >= 12) adobe_transform_ = segment.payload[11];
      if (segment.marker != kStartOfScan) continue;
      const Scan scan = read_scan_header(segment.payload);
      segment.next = read_scan(scan, segment.next);
      for (int i = 0; i < scan.count; ++i) decoded |= 1u << scan.components[static_cast<size_t>(i)];
      if (decoded == (1u << components_) - 1) break;
    }
    check(components_ > 0 && decoded == (1u << components_) - 1, "JPEG: the lossless data ends too early");
    if (components_ == 3 && (jfif_ || adobe_transform_ > 0)) {
      fail(ErrorKind::kUnsupported, "JPEG: lossless YCbCr is not supported");
    }
  }

 private:
  void read_frame(Bytes p) {
    check(components_ == 0, "JPEG: a second frame header");
    check(p.size() >= 6 && p[0] == bits_ && load_be16(&p[1]) == height_ && load_be16(&p[3]) == width_,
          "JPEG: the header given is not that of the data");
    if (bits_ < 2 || bits_ > 16 || (p[5] != 1 && p[5] != 3)) {
      fail(ErrorKind::kUnsupported, "JPEG: lossless with {} components of {} bits is not supported", p[5], bits_);
    }
    check(p.size() >= 6 + size_t{p[5]} * 3, "JPEG: the frame header is cut short");
    components_ = p[5];
    for (int i = 0; i < components_; ++i) {
      ids_[static_cast<size_t>(i)] = p[6 + static_cast<size_t>(i) * 3];
      const uint8_t sampling = p[7 + static_cast<size_t>(i) * 3];
      if (components_ > 1 && sampling != 0x11)
        fail(ErrorKind::kUnsupported, "JPEG: subsampled lossless is not supported");
    }
    planes_.assign(width_ * height_ * static_cast<size_t>(components_), 0);
  }

  void read_tables(Bytes p) {
    while (!p.empty()) {
      check(p.size() >= 17 && (p[0] & 0xf) < 4, "JPEG: a damaged Huffman table");
      HuffmanTable& table = tables_[p[0] & 0xf];
      int code = 0;
      size_t count = 0;
      for (size_t length = 1; length <= 16; ++length, code <<= 1) {
        const int codes = p[length];
        table.offset[length] = static_cast<int>(count) - code;
        code += codes;
        count += static_cast<size_t>(codes);
        table.largest[length] = codes > 0 ? code - 1 : -1;
        check(code <= 1 << length, "JPEG: a damaged Huffman table");
      }
      check(count <= 256 && p.size() >= 17 + count, "JPEG: a damaged Huffman table");
      std::memcpy(table.values.data(), p.data() + 17, count);
      table.defined = true;
      p = p.subspan(17 + count);
    }
  }

  Scan read_scan_header(Bytes p) {
    check(components_ > 0, "JPEG: a scan before the frame header");
    check(!p.empty() && p[0] >= 1 && p[0] <= components_ && p.size() >= 4 + size_t{p[0]} * 2,
          "JPEG: a damaged scan header");
    Scan scan;
    scan.count = p[0];
    for (size_t i = 0; i < p[0]; ++i) {
      const auto id = std::find(ids_.begin(), ids_.begin() + components_, p[1 + i * 2]);
      check(id != ids_.begin() + components_, "JPEG: a scan of an unknown component");
      scan.components[i] = static_cast<int>(id - ids_.begin());
      scan.tables[i] = p[2 + i * 2] >> 4;
      check(scan.tables[i] < 4 && tables_[static_cast<size_t>(scan.tables[i])].defined,
            "JPEG: a Huffman table is missing");
    }
    scan.predictor = p[1 + size_t{p[0]} * 2];
    scan.shift = p[3 + size_t{p[0]} * 2] & 0xf;
    check(scan.predictor >= 1 && scan.predictor <= 7 && scan.shift < bits_, "JPEG: a damaged scan header");
    return scan;
  }

  // Returns the offset behind the scan.
  size_t read_scan(const Scan& scan, size_t at) {
    check(restart_ % width_ == 0, "JPEG: a restart interval of {} samples in rows of {}", restart_, width_);
    const size_t restart_rows = restart_ / width_;
    BitReader reader(bytes_, at);
    for (size_t y = 0; y < height_; ++y) {
      const bool first = y == 0 || (restart_rows > 0 && y % restart_rows == 0);
      if (first && y > 0) reader.restart();
      for (size_t x = 0; x < width_; ++x) {
        for (size_t i = 0; i < static_cast<size_t>(scan.count); ++i) {
          const int difference = read_difference(reader, tables_[static_cast<size_t>(scan.tables[i])]);
          uint16_t* sample = &planes_[(static_cast<size_t>(scan.components[i]) * height_ + y) * width_ + x];
          *sample = static_cast<uint16_t>(prediction(sample, x, first, scan) + difference);
        }
      }
    }
    shift_samples(scan);
    return reader.at();
  }

  int prediction(const uint16_t* sample, size_t x, bool first_row, const Scan& scan) const {
    if (first_row) return x == 0 ? 1 << (bits_ - scan.shift - 1) : sample[-1];
    const uint16_t* above = sample - width_;
    if (x == 0) return above[0];
    return predict(scan.predictor, sample[-1], above[0], above[-1]);
  }

  void shift_samples(const Scan& scan) {
    if (scan.shift == 0) return;
    for (size_t i = 0; i < static_cast<size_t>(scan.count); ++i) {
      uint16_t* plane = &planes_[static_cast<size_t>(scan.components[i]) * height_ * width_];
      for (size_t k = 0; k < height_ * width_; ++k) plane[k] = static_cast<uint16_t>(plane[k] << scan.shift);
    }
  }

  Bytes bytes_;
  size_t width_, height_;
  int bits_;
  std::vector<uint16_t>& planes_;  // component after component
  int components_ = 0;
  std::array<uint8_t, 3> ids_{};
  std::array<HuffmanTable, 4> tables_{};
  size_t restart_ = 0;
  bool jfif_ = false;
  int adobe_transform_ = -1;
};

template <typename T> void put_rows(const LosslessJpeg& image, int bits, RowSink& sink) {
  const ImageRegion& region = sink.region();
  const uint64_t from = (uint64_t{1} << bits) - 1;
  const uint64_t to = static_cast<T>(-1);
  const size_t channels = static_cast<size_t>(image.components());
  std::vector<T> row(static_cast<size_t>(region.width) * channels);
  for (int y = region.y; y < region.y + region.height; ++y) {
    for (size_t c = 0; c < channels; ++c) {
      const uint16_t* samples = image.row(static_cast<int>(c), static_cast<size_t>(y)) + region.x;
      for (size_t x = 0; x < static_cast<size_t>(region.width); ++x) {
        row[x * channels + c] = static_cast<T>((std::min<uint64_t>(samples[x], from) * to + from / 2) / from);
      }
    }
    sink.put(y, row.data());
  }
}

}  // namespace

bool is_lossless_jpeg(Bytes bytes) {
  Segment segment;
  for (size_t at = 2; next_segment(bytes, at, segment) && segment.marker != kStartOfScan; at = segment.next) {
    if (segment.marker == kLosslessFrame) return true;
  }
  return false;
}

void decode_lossless_jpeg(Bytes bytes, const ImageHeader& header, RowSink& sink, std::vector<uint16_t>& planes) {
  LosslessJpeg image(bytes, header, planes);
  image.decode();
  const bool wide = header.bit_depth > 8;
  sink.begin(image.components() == 1 ? PixelLayout::kGray : PixelLayout::kRgb, wide ? DType::kUInt16 : DType::kUInt8);
  if (wide) {
    put_rows<uint16_t>(image, header.bit_depth, sink);
  } else {
    put_rows<uint8_t>(image, header.bit_depth, sink);
  }
}

}  // namespace headrace
