// Fuzz target: PNG images. A changed byte would nearly always fail a checksum, so the checksums are made right here;
// and where the input's last byte is odd, its image data counts as not yet compressed.
#include <libdeflate.h>

#include <cstring>

#include "decode_image.h"

namespace {

constexpr size_t kSignatureBytes = 8;

uint32_t load_be32(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]};
}

void append_be32(std::vector<uint8_t>& out, uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<uint8_t>(value >> shift));
}

std::vector<uint8_t> compress(const uint8_t* data, size_t size) {
  static libdeflate_compressor* compressor = libdeflate_alloc_compressor(1);
  std::vector<uint8_t> out(libdeflate_zlib_compress_bound(compressor, size));
  out.resize(libdeflate_zlib_compress(compressor, data, size, out.data(), out.size()));
  return out;
}

// The chunks with right lengths and checksums, up to where the input ends.
std::vector<uint8_t> repair(const uint8_t* data, size_t size) {
  std::vector<uint8_t> out(data, data + kSignatureBytes);
  const bool raw = data[size - 1] % 2 != 0;
  for (size_t at = kSignatureBytes; at + 12 <= size;) {
    const size_t length = std::min<size_t>(load_be32(data + at), size - at - 12);
    std::vector<uint8_t> payload(data + at + 8, data + at + 8 + length);
    if (raw && std::memcmp(data + at + 4, "IDAT", 4) == 0) payload = compress(payload.data(), payload.size());
    append_be32(out, static_cast<uint32_t>(payload.size()));
    const size_t type_at = out.size();
    out.insert(out.end(), data + at + 4, data + at + 8);
    out.insert(out.end(), payload.begin(), payload.end());
    append_be32(out, libdeflate_crc32(0, out.data() + type_at, out.size() - type_at));
    at += 12 + length;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kSignatureBytes + 12) return 0;
  const std::vector<uint8_t> png = repair(data, size);
  headrace::fuzz::decode_image(png.data(), png.size(), {headrace::ImageFormat::kPng});
  return 0;
}
