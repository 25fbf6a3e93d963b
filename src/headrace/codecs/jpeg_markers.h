// Marker codes of JPEG files (ITU-T T.81, table B.1). Internal to codecs/.
#pragma once

#include <cstdint>

namespace headrace::jpeg {

inline constexpr uint8_t kBaselineFrame = 0xc0;
inline constexpr uint8_t kExtendedFrame = 0xc1;
inline constexpr uint8_t kLosslessFrame = 0xc3;
inline constexpr uint8_t kHuffmanTables = 0xc4;
inline constexpr uint8_t kEndOfImage = 0xd9;
inline constexpr uint8_t kStartOfScan = 0xda;
inline constexpr uint8_t kQuantTables = 0xdb;
inline constexpr uint8_t kRestartInterval = 0xdd;
inline constexpr uint8_t kApp0 = 0xe0;
inline constexpr uint8_t kApp1 = 0xe1;
inline constexpr uint8_t kApp14 = 0xee;
inline constexpr uint8_t kApp15 = 0xef;
inline constexpr uint8_t kComment = 0xfe;

}  // namespace headrace::jpeg
