// JPEG 2000 decoder over OpenJPEG: JP2 files and bare codestreams, 1 to 16 bits, subsampled components, sYCC and CMYK.
#if HEADRACE_HAVE_OPENJPEG
#include <openjpeg.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "codecs/byte_reader.h"
#include "codecs/format_decoder.h"
#include "codecs/pixel_convert.h"

namespace headrace {
namespace {

constexpr size_t kSizBytes = 38;  // SIZ of ISO 15444-1 A.5.1 up to the first component

struct Box {
  std::string_view type;
  Bytes data;
  size_t next;
};

// The box at `at` (ISO 15444-1 I.4); false at the end or where it exceeds the data.
bool box_at(Bytes bytes, size_t at, Box& box) {
  if (!has_bytes(bytes, at, 8)) return false;
  uint64_t length = load_be32(&bytes[at]);
  size_t header = 8;
  if (length == 1) {
    if (!has_bytes(bytes, at, 16)) return false;
    length = uint64_t{load_be32(&bytes[at + 8])} << 32 | load_be32(&bytes[at + 12]);
    header = 16;
  }
  const uint64_t room = bytes.size() - at;
  if (length == 0 || length > room) length = room;
  if (length < header) return false;
  box.type = std::string_view(reinterpret_cast<const char*>(&bytes[at + 4]), 4);
  box.data = bytes.subspan(at + header, static_cast<size_t>(length) - header);
  box.next = at + static_cast<size_t>(length);
  return true;
}

struct Jpeg2000Header {
  Bytes codestream;
  int palette_columns = 0;  // 0: no palette
  bool alpha = false;
  bool cmyk = false;
};

// The boxes inside jp2h that change the number of channels.
void read_jp2_header_box(Bytes data, Jpeg2000Header& h) {
  Box box;
  for (size_t at = 0; box_at(data, at, box); at = box.next) {
    if (box.type == "pclr" && box.data.size() >= 3) h.palette_columns = box.data[2];
    if (box.type == "colr" && box.data.size() >= 7 && box.data[0] == 1) h.cmyk = load_be32(&box.data[3]) == 12;
    if (box.type != "cdef" || box.data.size() < 2) continue;
    const size_t entries = load_be16(&box.data[0]);
    for (size_t i = 0; i < entries && has_bytes(box.data, 2 + i * 6, 6); ++i) {
      const uint16_t type = load_be16(&box.data[2 + i * 6 + 2]);
      h.alpha |= type == 1 || type == 2;
    }
  }
}

Jpeg2000Header find_codestream(Bytes bytes) {
  Jpeg2000Header h;
  if (bytes[0] == 0xff) {
    h.codestream = bytes;
    return h;
  }
  Box box;
  for (size_t at = 0; box_at(bytes, at, box); at = box.next) {
    if (box.type == "jp2h") read_jp2_header_box(box.data, h);
    if (box.type != "jp2c") continue;
    h.codestream = box.data;
    return h;
  }
  fail(ErrorKind::kRuntime, "JPEG 2000: no codestream found in {} bytes", bytes.size());
}

// Channels of gray, gray + alpha, RGB, RGB + alpha for this many components.
int channels_of(int components, bool cmyk) {
  if (cmyk) return 3;
  return std::min(components, 4);
}

struct ReadState {
  Bytes bytes;
  size_t position = 0;
  char message[256] = "";
};

OPJ_SIZE_T read_bytes(void* out, OPJ_SIZE_T size, void* user) {
  auto* state = static_cast<ReadState*>(user);
  const size_t count = std::min<size_t>(size, state->bytes.size() - state->position);
  if (count == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(out, &state->bytes[state->position], count);
  state->position += count;
  return count;
}

OPJ_OFF_T skip_bytes(OPJ_OFF_T size, void* user) {
  auto* state = static_cast<ReadState*>(user);
  if (size < 0) return -1;
  const size_t count = std::min(static_cast<size_t>(size), state->bytes.size() - state->position);
  state->position += count;
  return static_cast<OPJ_OFF_T>(count);
}

OPJ_BOOL seek_bytes(OPJ_OFF_T at, void* user) {
  auto* state = static_cast<ReadState*>(user);
  if (at < 0 || static_cast<size_t>(at) > state->bytes.size()) return OPJ_FALSE;
  state->position = static_cast<size_t>(at);
  return OPJ_TRUE;
}

void on_error(const char* message, void* user) {
  auto* state = static_cast<ReadState*>(user);
  if (state->message[0]) return;  // the first is the cause
  std::snprintf(state->message, sizeof state->message, "%.*s", static_cast<int>(std::strcspn(message, "\r\n")),
                message);
}

void ignore_message(const char*, void*) {}

struct Release {
  void operator()(opj_codec_t* codec) const { opj_destroy_codec(codec); }
  void operator()(opj_image_t* image) const { opj_image_destroy(image); }
};
using Codec = std::unique_ptr<opj_codec_t, Release>;
using Image = std::unique_ptr<opj_image_t, Release>;
using Stream = std::unique_ptr<opj_stream_t, void (*)(opj_stream_t*)>;

Image decode_image(Bytes bytes) {
  ReadState state{.bytes = bytes};
  const Codec codec(opj_create_decompress(bytes[0] == 0xff ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
  const Stream stream(opj_stream_create(1 << 16, OPJ_TRUE), [](opj_stream_t* s) { opj_stream_destroy(s); });
  check_internal(codec && stream, "JPEG 2000: out of memory");
  opj_set_error_handler(codec.get(), on_error, &state);
  opj_set_warning_handler(codec.get(), ignore_message, nullptr);
  opj_set_info_handler(codec.get(), ignore_message, nullptr);
  opj_stream_set_user_data(stream.get(), &state, nullptr);
  opj_stream_set_user_data_length(stream.get(), bytes.size());
  opj_stream_set_read_function(stream.get(), read_bytes);
  opj_stream_set_skip_function(stream.get(), skip_bytes);
  opj_stream_set_seek_function(stream.get(), seek_bytes);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  bool ok = opj_setup_decoder(codec.get(), &parameters) && opj_decoder_set_strict_mode(codec.get(), OPJ_TRUE);
  opj_image_t* raw = nullptr;
  ok = ok && opj_read_header(stream.get(), codec.get(), &raw);
  Image image(raw);
  ok = ok && opj_decode(codec.get(), stream.get(), image.get()) && opj_end_decompress(codec.get(), stream.get());
  check(ok, "JPEG 2000: {}", state.message[0] ? state.message : "the data is damaged");
  return image;
}

// One component's samples at the image's resolution, scaled to 8 or 16 bits.
class Plane {
 public:
  Plane(const opj_image_comp_t& component, const opj_image_t& image, uint32_t largest)
      : component_(component),
        offset_(component.sgnd ? int64_t{1} << (component.prec - 1) : 0),
        range_((int64_t{1} << component.prec) - 1),
        largest_(largest),
        shift_(8 - static_cast<int>(component.prec)),
        x0_(image.x0),
        y0_(image.y0) {}

  void begin_row(uint32_t y) {
    // Samples lie where the reference grid's coordinate is a multiple of dx, dy.
    const size_t row = sample_at(y0_ + y, component_.dy, component_.y0, component_.h);
    row_ = component_.data + row * component_.w;
  }

  uint32_t operator()(uint32_t x) const {
    const size_t column = sample_at(x0_ + x, component_.dx, component_.x0, component_.w);
    const int64_t value = std::clamp<int64_t>(row_[column] + offset_, 0, range_);
    // Below 8 bits the low bits stay empty, as Pillow and others have it; above, the whole range is scaled.
    if (shift_ > 0) return static_cast<uint32_t>(value << shift_);
    return static_cast<uint32_t>((value * largest_ + range_ / 2) / range_);
  }

 private:
  // An image may begin between two samples; its first pixels take the first one.
  static size_t sample_at(uint32_t coordinate, uint32_t step, uint32_t first, uint32_t count) {
    const int64_t sample = int64_t{coordinate / step} - int64_t{first};
    return static_cast<size_t>(std::clamp<int64_t>(sample, 0, int64_t{count} - 1));
  }

  const opj_image_comp_t& component_;
  int64_t offset_, range_, largest_;
  int shift_;
  uint32_t x0_, y0_;
  const OPJ_INT32* row_ = nullptr;
};

// Full-range YCbCr of ITU-R BT.601, as sYCC has it, to RGB.
void ycc_to_rgb(float largest, uint32_t* pixel) {
  const float center = (largest + 1) / 2;
  const float y = static_cast<float>(pixel[0]);
  const float cb = static_cast<float>(pixel[1]) - center;
  const float cr = static_cast<float>(pixel[2]) - center;
  const float rgb[3] = {y + 1.402f * cr, y - 0.344136f * cb - 0.714136f * cr, y + 1.772f * cb};
  for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint32_t>(std::clamp(rgb[c] + 0.5f, 0.0f, largest));
}

class Jpeg2000Decoder final : public FormatDecoder {
 public:
  void decode(Bytes bytes, const ImageHeader& header, const ImageDecodeOptions&, RowSink& sink) override {
    const Image image = decode_image(bytes);
    check(image->x1 - image->x0 == static_cast<uint32_t>(header.width) &&
              image->y1 - image->y0 == static_cast<uint32_t>(header.height),
          "JPEG 2000: the header given is not that of the data");
    const bool cmyk = image->color_space == OPJ_CLRSPC_CMYK && image->numcomps >= 4;
    check(channels_of(static_cast<int>(image->numcomps), cmyk) == header.channels,
          "JPEG 2000: {} components where the header states {}", image->numcomps, header.channels);
    const int components = cmyk ? 4 : header.channels;
    const bool wide = header.bit_depth > 8 && !cmyk;
    std::vector<Plane> planes;
    for (int c = 0; c < components; ++c) {
      const opj_image_comp_t& component = image->comps[c];
      check(component.data && component.w > 0 && component.h > 0 && component.prec >= 1 && component.prec <= 31 &&
                component.dx > 0 && component.dy > 0,
            "JPEG 2000: component {} is empty", c);
      planes.emplace_back(component, *image, wide ? 65535 : 255);
    }
    constexpr PixelLayout kLayouts[] = {PixelLayout::kGray, PixelLayout::kGrayAlpha, PixelLayout::kRgb,
                                        PixelLayout::kRgba};
    sink.begin(kLayouts[header.channels - 1], wide ? DType::kUInt16 : DType::kUInt8);
    const bool ycc = components >= 3 && !cmyk && is_ycc(*image);
    const ImageRegion& region = sink.region();
    for (int y = region.y; y < region.y + region.height; ++y) {
      if (wide) {
        fill_row(planes, region, y, ycc, wide_row_);
        sink.put(y, wide_row_.data());
      } else {
        fill_row(planes, region, y, ycc, row_);
        if (cmyk) cmyk_to_rgb(row_.data(), row_.data(), region.width, /*inverted=*/false);
        sink.put(y, row_.data());
      }
    }
  }

 private:
  // Bare codestreams do not name their colours; only YCC is ever subsampled.
  static bool is_ycc(const opj_image_t& image) {
    if (image.color_space == OPJ_CLRSPC_SYCC || image.color_space == OPJ_CLRSPC_EYCC) return true;
    const opj_image_comp_t* c = image.comps;
    return image.color_space != OPJ_CLRSPC_SRGB && c[0].dx == 1 && c[0].dy == 1 && (c[1].dx > 1 || c[1].dy > 1) &&
           c[1].dx == c[2].dx && c[1].dy == c[2].dy;
  }

  template <typename T>
  static void fill_row(std::vector<Plane>& planes, const ImageRegion& region, int y, bool ycc, std::vector<T>& row) {
    row.resize(static_cast<size_t>(region.width) * planes.size());
    for (Plane& plane : planes) plane.begin_row(static_cast<uint32_t>(y));
    T* out = row.data();
    for (int x = region.x; x < region.x + region.width; ++x) {
      uint32_t pixel[4];
      for (size_t c = 0; c < planes.size(); ++c) pixel[c] = planes[c](static_cast<uint32_t>(x));
      if (ycc) ycc_to_rgb(static_cast<float>(static_cast<T>(-1)), pixel);
      for (size_t c = 0; c < planes.size(); ++c) *out++ = static_cast<T>(pixel[c]);
    }
  }

  std::vector<uint8_t> row_;
  std::vector<uint16_t> wide_row_;
};

}  // namespace

ImageHeader read_jpeg2000_header(Bytes bytes) {
  const Jpeg2000Header h = find_codestream(bytes);
  const Bytes c = h.codestream;
  check(has_bytes(c, 0, 4 + kSizBytes) && load_be16(&c[0]) == 0xff4f && load_be16(&c[2]) == 0xff51,
        "JPEG 2000: the codestream does not begin with its size");
  const uint8_t* siz = &c[4];
  const int64_t width = int64_t{load_be32(siz + 4)} - load_be32(siz + 12);
  const int64_t height = int64_t{load_be32(siz + 8)} - load_be32(siz + 16);
  const int components = load_be16(siz + 36);
  check_plausible_size("JPEG 2000", width, height, bytes.size(), 4096);
  check(components > 0 && has_bytes(c, 4 + kSizBytes, static_cast<size_t>(components) * 3),
        "JPEG 2000: the component sizes are cut short");
  const int channels = h.palette_columns > 0 ? h.palette_columns : components;
  if (channels > 4) fail(ErrorKind::kUnsupported, "JPEG 2000: {} components are not supported", channels);
  ImageHeader header;
  header.width = static_cast<int>(width);
  header.height = static_cast<int>(height);
  header.channels = channels_of(channels, h.cmyk && channels == 4);
  header.bit_depth = h.palette_columns > 0 ? 8 : (siz[38] & 0x7f) + 1;
  return header;
}

std::unique_ptr<FormatDecoder> make_jpeg2000_decoder() { return std::make_unique<Jpeg2000Decoder>(); }

}  // namespace headrace
#endif
