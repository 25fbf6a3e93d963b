// Reading integers of either byte order from untrusted bytes. Internal to codecs/.
#pragma once

#include <cstdint>
#include <span>

namespace headrace {

using Bytes = std::span<const uint8_t>;

inline uint16_t load_be16(const uint8_t* p) { return static_cast<uint16_t>(p[0] << 8 | p[1]); }
inline uint16_t load_le16(const uint8_t* p) { return static_cast<uint16_t>(p[1] << 8 | p[0]); }
inline uint32_t load_be32(const uint8_t* p) { return static_cast<uint32_t>(load_be16(p)) << 16 | load_be16(p + 2); }
inline uint32_t load_le32(const uint8_t* p) { return static_cast<uint32_t>(load_le16(p + 2)) << 16 | load_le16(p); }

// Whether `count` bytes from `at` on lie inside `bytes`; safe for any values.
inline bool has_bytes(Bytes bytes, size_t at, size_t count) { return at <= bytes.size() && count <= bytes.size() - at; }

}  // namespace headrace
