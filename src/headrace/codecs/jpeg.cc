// JPEG decoder over libjpeg-turbo: bit-equal to its defaults (accurate integer DCT, fancy upsampling).
//
// Note [longjmp]: libjpeg leaves on an error by longjmp to TurboDecoder::run. Between the two are only C frames and the
// callbacks below; none of them, nor run itself, holds an object with a destructor.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include <jpeglib.h>

#include <jerror.h>

#include "codecs/format_decoder.h"
#include "codecs/jpeg/decoder.h"
#include "codecs/jpeg_lossless.h"
#include "codecs/jpeg_memory.h"
#include "codecs/pixel_convert.h"

namespace headrace {
namespace {

// libjpeg treats the edge of a cropped column range as the image's edge, which changes what fancy upsampling gives for
// the pixels next to it; so some more are decoded. Rows above are needed likewise.
constexpr int kMargin = 2;

// Progressive files have 10 scans or so. Each costs a pass over the image, so a small hostile file could take hours.
constexpr int kMaxScans = 200;

constexpr int kRowsAtOnce = 16;

// Bytes by which a row may begin before the region for it to be decoded in place: libjpeg crops to whole MCUs.
constexpr size_t kWidestFront = 128;

constexpr JOCTET kEndMarker[2] = {0xff, JPEG_EOI};

struct ErrorManager {
  jpeg_error_mgr base;  // first, so that cinfo->err can be cast
  std::jmp_buf escape;
  int code;
  char message[JMSG_LENGTH_MAX];
};

struct Source {
  jpeg_source_mgr base;  // first, so that cinfo->src can be cast
  bool ran_out;
};

void leave_with_error(j_common_ptr cinfo) {
  auto* error = reinterpret_cast<ErrorManager*>(cinfo->err);
  error->code = cinfo->err->msg_code;
  cinfo->err->format_message(cinfo, error->message);
  std::longjmp(error->escape, 1);
}

// Damaged data is only a warning to libjpeg, which goes on with gray pixels.
void on_message(j_common_ptr cinfo, int level) {
  if (level >= 0) return;
  switch (cinfo->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC: leave_with_error(cinfo);
  }
}

void ignore_source(j_decompress_ptr) {}

// The data has ended: libjpeg gets an end-of-image marker. If it still needs bits it says so (JWRN_HIT_MARKER).
boolean end_of_bytes(j_decompress_ptr cinfo) {
  cinfo->src->next_input_byte = kEndMarker;
  cinfo->src->bytes_in_buffer = sizeof kEndMarker;
  reinterpret_cast<Source*>(cinfo->src)->ran_out = true;
  return TRUE;
}

void skip_bytes(j_decompress_ptr cinfo, long count) {
  if (count <= 0) return;
  const size_t skipped = std::min(static_cast<size_t>(count), cinfo->src->bytes_in_buffer);
  cinfo->src->next_input_byte += skipped;
  cinfo->src->bytes_in_buffer -= skipped;
}

void limit_scans(j_common_ptr cinfo) {
  if (reinterpret_cast<j_decompress_ptr>(cinfo)->input_scan_number > kMaxScans) {
    ERREXIT(cinfo, JERR_TOO_LITTLE_DATA);
  }
}

bool is_unsupported(int code) {
#if JPEG_LIB_VERSION < 70  // libjpeg 8's interface, which Ubuntu builds, has no such error
  if (code == JERR_ARITH_NOTIMPL) return true;
#endif
  return code == JERR_SOF_UNSUPPORTED || code == JERR_BAD_PRECISION || code == JERR_CONVERSION_NOTIMPL ||
         code == JERR_CCIR601_NOTIMPL || code == JERR_FRACT_SAMPLE_NOTIMPL;
}

class TurboDecoder final : public FormatDecoder {
 public:
  TurboDecoder() {
    cinfo_.err = jpeg_std_error(&error_.base);
    error_.base.error_exit = leave_with_error;
    error_.base.emit_message = on_message;
    // Only a version mismatch of the library or lack of memory can fail here.
    if (setjmp(error_.escape)) fail(ErrorKind::kInternal, "JPEG: {}", error_.message);
    jpeg_create_decompress(&cinfo_);
    memory_.install(reinterpret_cast<j_common_ptr>(&cinfo_));
    source_.base.init_source = ignore_source;
    source_.base.term_source = ignore_source;
    source_.base.fill_input_buffer = end_of_bytes;
    source_.base.skip_input_data = skip_bytes;
    source_.base.resync_to_restart = jpeg_resync_to_restart;
    cinfo_.src = &source_.base;
    progress_.progress_monitor = limit_scans;
    cinfo_.progress = &progress_;
  }
  ~TurboDecoder() override { jpeg_destroy_decompress(&cinfo_); }

  bool used_libjpeg_turbo() const override { return true; }

  void decode(std::span<const uint8_t> bytes, const ImageHeader& header, const ImageDecodeOptions& options,
              RowSink& sink) override {
    source_.base.next_input_byte = bytes.data();
    source_.base.bytes_in_buffer = bytes.size();
    source_.ran_out = false;
    const struct Reset {
      jpeg_decompress_struct* cinfo;
      ~Reset() {
        jpeg_abort_decompress(cinfo);
        JpegMemory::forget_tables(*cinfo);
      }
    } reset{&cinfo_};
    if (run(header, options, sink)) return;
    // libjpeg-turbo 2 has no lossless JPEG; version 3 has it for 8 bits, but not for a region.
    if (is_lossless_jpeg(bytes)) return decode_lossless_jpeg(bytes, header, sink, lossless_planes_);
    if (is_unsupported(error_.code)) fail(ErrorKind::kUnsupported, "JPEG: {}", error_.message);
    fail(ErrorKind::kRuntime, "JPEG: {}", error_.message);
  }

 private:
  // False if libjpeg left with an error, which is then in error_. See Note [longjmp].
  bool run(const ImageHeader& header, const ImageDecodeOptions& options, RowSink& sink) {
    if (setjmp(error_.escape)) return false;
    jpeg_read_header(&cinfo_, TRUE);
    check(cinfo_.image_width == static_cast<JDIMENSION>(header.width) &&
              cinfo_.image_height == static_cast<JDIMENSION>(header.height),
          "JPEG: the header given is not that of the data");
    choose_color(options, sink);
    cinfo_.dct_method = options.use_fast_idct ? JDCT_IFAST : JDCT_ISLOW;
    jpeg_start_decompress(&cinfo_);
    skip_to_region(sink.region());
    read_rows(sink);
    // A scan that is missing as a whole, or the end of an arithmetic-coded one, goes unnoticed by libjpeg.
    if (source_.ran_out && (jpeg_has_multiple_scans(&cinfo_) || cinfo_.arith_code)) {
      ERREXIT(&cinfo_, JERR_INPUT_EOF);
    }
    return true;
  }

  void choose_color(const ImageDecodeOptions& options, RowSink& sink) {
    const ImageColor color = options.color;
    const bool cmyk = cinfo_.num_components == 4;
    const bool gray = !cmyk && (color == ImageColor::kGray ||
                                (cinfo_.num_components == 1 && color != ImageColor::kRgb && color != ImageColor::kBgr));
    const bool bgr = !cmyk && color == ImageColor::kBgr;
    cinfo_.out_color_space = cmyk ? JCS_CMYK : gray ? JCS_GRAYSCALE : bgr ? JCS_EXT_BGR : JCS_EXT_RGB;
    sink.begin(gray ? PixelLayout::kGray : bgr ? PixelLayout::kBgr : PixelLayout::kRgb, DType::kUInt8);
  }

  // Narrows the columns that are decoded, sets first_column_ and passes over the rows above the region.
  void skip_to_region(const ImageRegion& region) {
    first_column_ = 0;
    if (region.width + 2 * kMargin < static_cast<int>(cinfo_.output_width)) {
      JDIMENSION x = static_cast<JDIMENSION>(std::max(region.x - kMargin, 0));
      const int end = std::min(region.x + region.width + kMargin, static_cast<int>(cinfo_.output_width));
      JDIMENSION width = static_cast<JDIMENSION>(end) - x;
      jpeg_crop_scanline(&cinfo_, &x, &width);
      first_column_ = static_cast<int>(x);
    }
    if (region.y > kMargin) jpeg_skip_scanlines(&cinfo_, static_cast<JDIMENSION>(region.y - kMargin));
  }

  void read_rows(RowSink& sink) {
    const ImageRegion& region = sink.region();
    const size_t row_bytes = static_cast<size_t>(cinfo_.output_width) * cinfo_.output_components;
    const bool in_place = sink.in_place(region.y) && static_cast<int>(cinfo_.output_width) == region.width &&
                          cinfo_.out_color_space != JCS_CMYK;
    if (rows_.size() < row_bytes * kRowsAtOnce) rows_.resize(row_bytes * kRowsAtOnce);
    const int end = region.y + region.height;
    while (static_cast<int>(cinfo_.output_scanline) < end) {
      const int y = static_cast<int>(cinfo_.output_scanline);
      const bool wanted = y >= region.y;
      if (wanted && !in_place && read_wide_row(y, row_bytes, sink)) continue;
      const int rows = std::min((wanted ? end : region.y) - y, kRowsAtOnce);
      JSAMPROW pointers[kRowsAtOnce];
      for (int i = 0; i < rows; ++i) {
        pointers[i] = wanted && in_place ? sink.in_place(y + i) : rows_.data() + row_bytes * static_cast<size_t>(i);
      }
      const int done = static_cast<int>(jpeg_read_scanlines(&cinfo_, pointers, static_cast<JDIMENSION>(rows)));
      if (!wanted || in_place) continue;
      for (int i = 0; i < done; ++i) put_row(y + i, pointers[i], sink);
    }
  }

  // Decodes a row that is wider than the region in place: what is too much behind it lands in the next row, which comes
  // later, and what is too much before it in the row above, which is put back. False where that would leave the image.
  bool read_wide_row(int y, size_t row_bytes, RowSink& sink) {
    const ImageRegion& region = sink.region();
    uint8_t* const place = sink.in_place(y);
    const size_t pixel = sink.pixel_bytes(), wanted = static_cast<size_t>(region.width) * pixel;
    if (!place || cinfo_.out_color_space == JCS_CMYK) return false;
    if (region.height < 2 || sink.in_place(region.y + 1) != sink.in_place(region.y) + wanted) return false;
    uint8_t above[kWidestFront];
    const size_t front = static_cast<size_t>(region.x - first_column_) * pixel;
    const size_t written_above = static_cast<size_t>(y - region.y) * wanted;
    const size_t room_below = static_cast<size_t>(region.y + region.height - 1 - y) * wanted;
    if (front > std::min(sizeof above, written_above) || row_bytes - front - wanted > room_below) return false;
    uint8_t* row = place - front;
    std::memcpy(above, row, front);
    jpeg_read_scanlines(&cinfo_, &row, 1);
    std::memcpy(row, above, front);
    return true;
  }

  void put_row(int y, uint8_t* row, RowSink& sink) {
    const int offset = sink.region().x - first_column_;
    if (cinfo_.out_color_space == JCS_CMYK) {
      // CMYK in JPEG is stored inverted, as Adobe began it; Pillow assumes so in every file, with or without its
      // marker.
      uint8_t* pixels = row + offset * 4;
      cmyk_to_rgb(pixels, pixels, sink.region().width, /*inverted=*/true);
      sink.put(y, pixels);
    } else {
      sink.put(y, row + offset * cinfo_.output_components);
    }
  }

  JpegMemory memory_;
  jpeg_decompress_struct cinfo_{};
  ErrorManager error_{};
  Source source_{};
  jpeg_progress_mgr progress_{};
  int first_column_ = 0;  // image column that libjpeg's rows begin with
  std::vector<uint8_t> rows_;
  std::vector<uint16_t> lossless_planes_;
};

// Our own decoder where it can, libjpeg-turbo for the rest: other kinds of JPEG, and whatever may be damaged.
class OwnDecoder final : public FormatDecoder {
 public:
  void decode(std::span<const uint8_t> bytes, const ImageHeader& header, const ImageDecodeOptions& options,
              RowSink& sink) override {
    passed_on_ = options.use_fast_idct || !own_.decode(bytes, header, options, sink);
    if (passed_on_) turbo_.decode(bytes, header, options, sink);
  }

  bool used_libjpeg_turbo() const override { return passed_on_; }

 private:
  bool passed_on_ = false;
  jpeg::Decoder own_;
  TurboDecoder turbo_;
};

JpegBackend backend_from_environment() {
  const char* value = std::getenv("HEADRACE_JPEG");
  const std::string_view name = value ? value : "own";
  check(name == "turbo" || name == "own", "HEADRACE_JPEG: expected turbo or own, got {}", name);
  return name == "own" ? JpegBackend::kOwn : JpegBackend::kTurbo;
}

}  // namespace

std::unique_ptr<FormatDecoder> make_jpeg_decoder(JpegBackend backend) {
  if (backend == JpegBackend::kOwn) return std::make_unique<OwnDecoder>();
  return std::make_unique<TurboDecoder>();
}

std::unique_ptr<FormatDecoder> make_jpeg_decoder() {
  static const JpegBackend backend = backend_from_environment();
  return make_jpeg_decoder(backend);
}

}  // namespace headrace
