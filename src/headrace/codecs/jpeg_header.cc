// JPEG headers: extents and components from the frame header, orientation from EXIF.
#include <cstring>

#include "codecs/byte_reader.h"
#include "codecs/exif.h"
#include "codecs/format_decoder.h"
#include "codecs/jpeg_markers.h"

namespace headrace {
namespace {

using namespace jpeg;

bool is_frame_header(uint8_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

bool is_arithmetic(uint8_t frame_marker) { return frame_marker > 0xc8; }

bool has_no_payload(uint8_t marker) { return marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd8); }

void read_frame_header(Bytes payload, uint8_t marker, size_t file_size, ImageHeader& header) {
  check(payload.size() >= 6, "JPEG: the frame header is cut short");
  header.bit_depth = payload[0];
  header.height = load_be16(&payload[1]);
  header.width = load_be16(&payload[3]);
  const int components = payload[5];
  if (components == 2 || components > 4) {
    fail(ErrorKind::kUnsupported, "JPEG: {} components are not supported", components);
  }
  check(components > 0, "JPEG: the frame header has no components");
  header.channels = components == 1 ? 1 : 3;
  // A Huffman coded block of 64 pixels takes one bit at least; arithmetic coding has no such bound.
  check_plausible_size("JPEG", header.width, header.height, file_size, is_arithmetic(marker) ? 65536 : 512);
}

}  // namespace

ImageHeader read_jpeg_header(Bytes bytes) {
  ImageHeader header;
  bool has_exif = false;
  size_t at = 2;
  while (true) {
    // As libjpeg does, skip what is no marker, and fill bytes before one.
    while (at < bytes.size() && bytes[at] != 0xff) ++at;
    while (at < bytes.size() && bytes[at] == 0xff) ++at;
    if (at >= bytes.size()) break;
    const uint8_t marker = bytes[at++];
    if (has_no_payload(marker)) continue;
    if (marker == kStartOfScan || marker == kEndOfImage || !has_bytes(bytes, at, 2)) break;
    const size_t length = load_be16(&bytes[at]);
    if (length < 2 || !has_bytes(bytes, at, length)) break;
    const Bytes payload = bytes.subspan(at + 2, length - 2);
    at += length;
    if (is_frame_header(marker) && header.channels == 0) read_frame_header(payload, marker, bytes.size(), header);
    if (marker == kApp1 && !has_exif && payload.size() >= 6 && std::memcmp(payload.data(), "Exif\0\0", 6) == 0) {
      header.orientation = exif_orientation(payload);
      has_exif = true;
    }
  }
  check(header.channels > 0, "JPEG: no frame header found in {} bytes", bytes.size());
  return header;
}

}  // namespace headrace
