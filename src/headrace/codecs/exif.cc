// The orientation tag of EXIF data.
#include "codecs/exif.h"

#include <cstring>

namespace headrace {
namespace {

constexpr uint16_t kOrientationTag = 0x112;
constexpr uint16_t kShort = 3;
constexpr uint16_t kLong = 4;

}  // namespace

int exif_orientation(Bytes exif) {
  if (exif.size() >= 6 && std::memcmp(exif.data(), "Exif\0\0", 6) == 0) exif = exif.subspan(6);
  if (exif.size() < 8) return 1;
  const bool big = exif[0] == 'M' && exif[1] == 'M';
  if (!big && !(exif[0] == 'I' && exif[1] == 'I')) return 1;
  const auto u16 = [&](size_t at) { return big ? load_be16(&exif[at]) : load_le16(&exif[at]); };
  const auto u32 = [&](size_t at) { return big ? load_be32(&exif[at]) : load_le32(&exif[at]); };
  if (u16(2) != 42) return 1;
  const size_t directory = u32(4);
  if (!has_bytes(exif, directory, 2)) return 1;
  const int entries = u16(directory);
  for (int i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + static_cast<size_t>(i) * 12;
    if (!has_bytes(exif, entry, 12)) return 1;
    if (u16(entry) != kOrientationTag) continue;
    const uint16_t type = u16(entry + 2);
    const uint32_t value = type == kShort ? u16(entry + 8) : type == kLong ? u32(entry + 8) : 1;
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace headrace
