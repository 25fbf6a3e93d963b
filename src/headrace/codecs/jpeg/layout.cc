// Headers of the JPEG files that headrace decodes itself.
#include "codecs/jpeg/layout.h"

#include <cstring>

#include "codecs/jpeg_markers.h"

namespace headrace::jpeg {

namespace {

constexpr int kLargestExtent = 65500;  // libjpeg's

// What only decides how colours are coded.
struct ColorHints {
  bool jfif = false;
  bool adobe = false;
  uint8_t transform = 0;
};

bool read_frame(Bytes p, FileLayout& layout) {
  if (layout.components != 0 || p.size() < 6 || p[0] != 8) return false;
  layout.height = load_be16(&p[1]);
  layout.width = load_be16(&p[3]);
  const int components = p[5];
  if ((components != 1 && components != 3 && components != 4) || p.size() != 6 + 3 * static_cast<size_t>(components))
    return false;
  if (layout.width == 0 || layout.height == 0 || layout.width > kLargestExtent || layout.height > kLargestExtent) {
    return false;
  }
  layout.components = components;
  for (int i = 0; i < components; ++i) {
    const uint8_t* q = &p[6 + 3 * static_cast<size_t>(i)];
    Component& c = layout.component[static_cast<size_t>(i)];
    c = {q[0], q[1] >> 4, q[1] & 15, q[2], 0, 0};
    if (c.h < 1 || c.v < 1 || c.h > 4 || c.v > 4 || c.quant > 3) return false;
  }
  if (components == 1) return true;
  const auto& [first, second, third, fourth] = layout.component;
  for (int i = 1; i < components; ++i) {
    for (int k = 0; k < i; ++k) {
      if (layout.component[static_cast<size_t>(i)].id == layout.component[static_cast<size_t>(k)].id) return false;
    }
  }
  if (second.h * second.v != 1 || third.h * third.v != 1) return false;
  if (components == 4 && (fourth.h != first.h || fourth.v != first.v)) return false;
  return (first.h <= 2 && first.v <= 2) || (first.h == 4 && first.v == 1);
}

bool read_quant_tables(Bytes p, FileLayout& layout) {
  while (!p.empty()) {
    const size_t index = p[0] & 15;
    const size_t bytes = p[0] >> 4 ? 2 : 1;
    if (index > 3 || p.size() < 1 + 64 * bytes) return false;
    for (size_t k = 0; k < 64; ++k) {
      layout.quant[index][kZigzag[k]] = bytes == 2 ? load_be16(&p[1 + 2 * k]) : p[1 + k];
    }
    layout.quant_defined[index] = true;
    p = p.subspan(1 + 64 * bytes);
  }
  return true;
}

bool read_huffman_tables(Bytes p, FileLayout& layout) {
  while (!p.empty()) {
    if (p.size() < 17 || (p[0] & ~0x13) != 0) return false;
    HuffmanSpec& spec = (p[0] >> 4 ? layout.ac : layout.dc)[p[0] & 3];
    spec = {};
    size_t total = 0;
    for (size_t i = 0; i < 16; ++i) total += spec.counts[i] = p[1 + i];
    if (total > 256 || p.size() < 17 + total) return false;
    std::memcpy(spec.values.data(), &p[17], total);
    spec.defined = true;
    p = p.subspan(17 + total);
  }
  return true;
}

bool read_scan(Bytes p, FileLayout& layout) {
  const auto components = static_cast<size_t>(layout.components);
  if (components == 0 || p.size() != 4 + 2 * components || p[0] != components) return false;
  for (size_t i = 0; i < components; ++i) {
    Component& c = layout.component[i];
    if (p[1 + 2 * i] != c.id) return false;
    c.dc = p[2 + 2 * i] >> 4;
    c.ac = p[2 + 2 * i] & 15;
    if (c.dc > 3 || c.ac > 3) return false;
    if (!layout.dc[static_cast<size_t>(c.dc)].defined || !layout.ac[static_cast<size_t>(c.ac)].defined) return false;
    if (!layout.quant_defined[static_cast<size_t>(c.quant)]) return false;
  }
  const uint8_t* spectral = &p[1 + 2 * components];
  return spectral[0] == 0 && spectral[1] == 63 && spectral[2] == 0;
}

// As libjpeg guesses. Three components: JFIF means YCbCr, then Adobe's marker counts, then the components' names.
ColorCoding coding_of(const FileLayout& layout, const ColorHints& hints) {
  if (layout.components == 1) return ColorCoding::kGray;
  if (layout.components == 4) {
    return hints.adobe && hints.transform != 0 ? ColorCoding::kYcck : ColorCoding::kCmyk;
  }
  if (hints.jfif) return ColorCoding::kYcc;
  if (hints.adobe) return hints.transform == 0 ? ColorCoding::kRgb : ColorCoding::kYcc;
  const auto& c = layout.component;
  return c[0].id == 'R' && c[1].id == 'G' && c[2].id == 'B' ? ColorCoding::kRgb : ColorCoding::kYcc;
}

bool read_segment(uint8_t marker, Bytes p, FileLayout& layout, ColorHints& hints) {
  switch (marker) {
    case kBaselineFrame:
    case kExtendedFrame: return read_frame(p, layout);
    case kQuantTables: return read_quant_tables(p, layout);
    case kHuffmanTables: return read_huffman_tables(p, layout);
    case kRestartInterval:
      if (p.size() != 2) return false;
      layout.restart_interval = load_be16(&p[0]);
      return true;
    case kApp0: hints.jfif |= p.size() >= 14 && std::memcmp(p.data(), "JFIF", 5) == 0; return true;
    case kApp14:
      if (p.size() >= 12 && std::memcmp(p.data(), "Adobe", 5) == 0) {
        hints.adobe = true;
        hints.transform = p[11];
      }
      return true;
    default: return (marker > kApp0 && marker <= kApp15) || marker == kComment;
  }
}

}  // namespace

bool read_layout(Bytes bytes, FileLayout& layout) {
  layout = {};
  ColorHints hints;
  size_t at = 2;
  while (has_bytes(bytes, at, 4) && bytes[at] == 0xff) {
    const uint8_t marker = bytes[at + 1];
    if (marker == 0xff) {  // a fill byte
      ++at;
      continue;
    }
    const size_t length = load_be16(&bytes[at + 2]);
    if (length < 2 || !has_bytes(bytes, at + 2, length)) return false;
    const Bytes payload = bytes.subspan(at + 4, length - 2);
    at += 2 + length;
    if (marker == kStartOfScan) {
      layout.scan_at = at;
      layout.coding = coding_of(layout, hints);
      return read_scan(payload, layout);
    }
    if (!read_segment(marker, payload, layout, hints)) return false;
  }
  return false;
}

}  // namespace headrace::jpeg
