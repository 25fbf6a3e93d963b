// headrace's own JPEG decoder: rows of MCUs stream from the entropy decoder over planes of two rows to the sink.
#include "codecs/jpeg/decoder.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "codecs/jpeg/idct.h"
#include "codecs/jpeg/pixels.h"
#include "codecs/pixel_convert.h"

namespace headrace::jpeg {
namespace {

// MCUs that are decoded before they are transformed: their coefficients stay in the first-level cache. A multiple of
// kGroupBlocks.
constexpr int kRunMcus = 8;

// Room before a plane's row, of which the sample before the first is read, and behind it.
constexpr ptrdiff_t kLeftPad = 64;
constexpr ptrdiff_t kRightPad = kRowSlack + kGroupRow;

int groups_of(int blocks) { return (blocks + kGroupBlocks - 1) / kGroupBlocks; }

template <typename T> void grow(std::vector<T>& v, size_t size) {
  if (v.size() < size) v.resize(size);
}

}  // namespace

uint8_t* Decoder::Plane::row(int y) { return memory.data() + kLeftPad + y % (16 * v) * stride; }

void Decoder::Plane::clear() {
  std::fill(coefficients.begin(), coefficients.end(), int16_t{0});
  std::fill(busy.begin(), busy.end(), uint8_t{0});
}

bool Decoder::decode(Bytes bytes, const ImageHeader& header, const ImageDecodeOptions& options, RowSink& sink) {
  if (!prepare(bytes) || layout_.width != header.width || layout_.height != header.height) return false;
  if (options.color == ImageColor::kGray && layout_.coding == ColorCoding::kRgb) return false;
  choose_output(options, sink);
  geometry_ = plan_region(layout_, sink.region(), wanted_ > 1);
  set_up_planes();
  unstuff(bytes.subspan(layout_.scan_at), layout_.restart_interval != 0, scan_);
  segment_ = 0;
  until_restart_ = layout_.restart_interval;
  mcu_ = 0;
  state_.start(scan_.bytes.data());
  open_index(options.index);
  dirty_ = true;
  if (!decode_rows(sink)) {
    if (index_) index_->found.clear();
    return false;
  }
  dirty_ = false;
  return true;
}

// Images of few MCUs are decoded as quickly without one.
void Decoder::open_index(EntropyIndex* index) {
  constexpr int kFewestPoints = 8;
  const int points = (geometry_.mcus_across * geometry_.mcus_down + kMcusPerPoint - 1) / kMcusPerPoint;
  index_ = index && points >= kFewestPoints && scan_.segment_ends.back() <= UINT32_MAX ? index : nullptr;
  next_point_ = INT_MAX;
  if (!index) return;
  index->found.clear();
  index->size = index_ ? points : 0;
  if (!index_) return;
  const auto known = static_cast<int>(index->known.size());
  const int interval = layout_.restart_interval;
  const bool fits =
      known == 0 ||
      (known <= points && index->known.back().byte <= scan_.segment_ends.back() &&
       (interval == 0 || static_cast<size_t>((known - 1) * kMcusPerPoint / interval) < scan_.segment_ends.size()));
  check_internal(fits, "JPEG: the index is that of another file");
  next_point_ = known * kMcusPerPoint;
}

// Goes to the last known point at or before an MCU, if that is ahead.
void Decoder::jump(int mcu) {
  if (!index_ || index_->known.empty()) return;
  const int number = std::min(mcu / kMcusPerPoint, static_cast<int>(index_->known.size()) - 1);
  const int to = number * kMcusPerPoint;
  if (to <= mcu_) return;
  const EntropyPoint& point = index_->known[static_cast<size_t>(number)];
  mcu_ = to;
  state_.start(scan_.bytes.data() + point.byte, point.bit);
  std::copy_n(point.dc.begin(), state_.dc.size(), state_.dc.begin());
  if (layout_.restart_interval == 0) return;
  segment_ = static_cast<size_t>(to / layout_.restart_interval);
  until_restart_ = layout_.restart_interval - to % layout_.restart_interval;
}

void Decoder::add_point() {
  const ptrdiff_t bits = (state_.next - scan_.bytes.data()) * 8 - state_.count;
  EntropyPoint& point = index_->found.emplace_back();
  point.byte = static_cast<uint32_t>(bits / 8);
  point.bit = static_cast<uint32_t>(bits % 8);
  std::copy(state_.dc.begin(), state_.dc.end(), point.dc.begin());
  next_point_ += kMcusPerPoint;
}

// Before up to `count` MCUs: how many come until something is to be done between two of them. False at damage.
bool Decoder::begin_part(int count, int& part) {
  const bool restarts = layout_.restart_interval != 0;
  if (restarts && until_restart_ == 0 && !take_restart()) return false;
  if (mcu_ == next_point_) add_point();
  part = std::min(count, next_point_ - mcu_);
  if (restarts) part = std::min(part, until_restart_);
  return true;
}

// Reads the header, unless it is that of the image before, byte by byte, as in data sets of tiny images.
bool Decoder::prepare(Bytes bytes) {
  if (!header_.empty() && bytes.size() >= header_.size() &&
      std::memcmp(bytes.data(), header_.data(), header_.size()) == 0) {
    return true;
  }
  header_.clear();
  if (!read_layout(bytes, layout_) || !find_tables()) return false;
  header_.assign(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(layout_.scan_at));
  return true;
}

bool Decoder::find_tables() {
  plan_.blocks = 0;
  for (int c = 0; c < layout_.components; ++c) {
    const Component& component = layout_.component[static_cast<size_t>(c)];
    DcTable* dc = tables_.dc(layout_.dc[static_cast<size_t>(component.dc)]);
    AcTable* ac = tables_.ac(layout_.ac[static_cast<size_t>(component.ac)]);
    if (!dc || !ac) return false;
    const int h = layout_.components == 1 ? 1 : component.h;
    const int v = layout_.components == 1 ? 1 : component.v;
    for (int i = 0; i < h * v; ++i) {
      plan_.block[static_cast<size_t>(plan_.blocks++)] = {dc, ac, c, i % h, i / h, h};
    }
  }
  return true;
}

void Decoder::choose_output(const ImageDecodeOptions& options, RowSink& sink) {
  const bool inks = layout_.components == 4;  // the sink makes other colours of their RGB
  wanted_ = options.color == ImageColor::kGray && !inks ? 1 : layout_.components;
  bgr_ = options.color == ImageColor::kBgr && !inks;
  sink.begin(wanted_ == 1 ? PixelLayout::kGray : bgr_ ? PixelLayout::kBgr : PixelLayout::kRgb, DType::kUInt8);
}

void Decoder::set_up_planes() {
  const int mcus = geometry_.end_mcu - geometry_.first_mcu;
  if (dirty_) {
    for (Plane& plane : planes_) plane.clear();
  }
  for (int c = 0; c < wanted_; ++c) {
    Plane& plane = planes_[static_cast<size_t>(c)];
    const bool subsampled = c == 1 || c == 2;
    plane.h = subsampled ? 1 : geometry_.h;
    plane.v = subsampled ? 1 : geometry_.v;
    plane.stride = (kLeftPad + mcus * 8 * plane.h + kRightPad + 63) / 64 * 64;
    grow(plane.memory, static_cast<size_t>(plane.stride * 16 * plane.v));
    const auto groups = static_cast<size_t>(groups_of(kRunMcus * plane.h) * plane.v);
    if (plane.busy.size() >= groups) continue;
    plane.busy.resize(groups);
    plane.coefficients.resize(groups * kGroupSize + 32);  // to begin aligned
    plane.clear();                                        // where alignment moved the rooms behind the groups
  }
  const size_t row = static_cast<size_t>(mcus * geometry_.mcu_width() + 4 * kRowSlack);
  for (std::vector<uint8_t>& chroma : upsampled_) grow(chroma, row);
  grow(pixels_, 3 * row);
}

bool Decoder::decode_rows(RowSink& sink) {
  const Geometry& g = geometry_;
  const ImageRegion& region = sink.region();
  int next = region.y;  // row of pixels
  for (int row = g.first_row; row < g.end_row; ++row) {
    if (!decode_row(row)) return false;
    // The last row of pixels waits for the chroma below it.
    const bool waits = g.uses_rows_around() && row + 1 < g.mcus_down;
    const int end = std::min((row + 1) * g.mcu_height() - (waits ? 1 : 0), region.y + region.height);
    if (next < end) layout_.components == 4 ? emit_inks(next, end, sink) : emit(next, end, sink);
    next = std::max(next, end);
  }
  return pass_to(g.end_row * g.mcus_across);
}

bool Decoder::decode_row(int row) {
  const Geometry& g = geometry_;
  if (!pass_to(row * g.mcus_across + g.first_mcu)) return false;
  int next;
  for (int mcu = g.first_mcu; mcu < g.end_mcu; mcu = next) {
    next = std::min(mcu + kRunMcus, g.end_mcu);
    if (!decode_run(next - mcu)) return false;
    transform_run(row, mcu, next - mcu);
  }
  repeat_edges(row);
  return true;
}

// Goes to the next piece of the scan, when `until_restart_` is 0.
bool Decoder::take_restart() {
  if (segment_ + 1 >= scan_.segment_ends.size()) return false;
  const uint8_t* at = scan_.bytes.data() + scan_.segment_ends[segment_];
  if (state_.position() != at) return false;
  ++segment_;
  until_restart_ = layout_.restart_interval;
  state_.start(at);
  return true;
}

// Passes over the MCUs before that one.
bool Decoder::pass_to(int mcu) {
  jump(mcu);
  while (mcu_ < mcu) {
    int part;
    if (!begin_part(mcu - mcu_, part)) return false;
    if (!skip_mcus(state_, plan_, scan_.bytes.data() + scan_.segment_ends[segment_], part)) return false;
    until_restart_ -= part;
    mcu_ += part;
  }
  return true;
}

namespace {

// The vector loads of the inverse transform want whole cache lines.
int16_t* aligned(std::vector<int16_t>& v) {
  return reinterpret_cast<int16_t*>((reinterpret_cast<uintptr_t>(v.data()) + 63) & ~uintptr_t{63});
}

}  // namespace

bool Decoder::decode_run(int count) {
  std::array<CoefficientRun, kMaxComponents> runs;
  for (int done = 0, part = 0; done < count; done += part) {
    if (!begin_part(count - done, part)) return false;
    for (int c = 0; c < wanted_; ++c) {
      Plane& plane = planes_[static_cast<size_t>(c)];
      runs[static_cast<size_t>(c)] = {aligned(plane.coefficients), plane.busy.data(), groups_of(kRunMcus * plane.h)};
    }
    if (!decode_mcus(state_, plan_, scan_.bytes.data() + scan_.segment_ends[segment_], done, part, runs)) return false;
    until_restart_ -= part;
    mcu_ += part;
  }
  return true;
}

void Decoder::transform_run(int row, int first, int count) {
  for (int c = 0; c < wanted_; ++c) {
    Plane& plane = planes_[static_cast<size_t>(c)];
    const QuantTable& quant = layout_.quant[static_cast<size_t>(layout_.component[static_cast<size_t>(c)].quant)];
    const int per_row = groups_of(kRunMcus * plane.h);
    const ptrdiff_t x = static_cast<ptrdiff_t>(first - geometry_.first_mcu) * 8 * plane.h;
    for (int y = 0; y < plane.v; ++y) {
      idct_groups(aligned(plane.coefficients) + static_cast<ptrdiff_t>(y) * per_row * kGroupSize,
                  plane.busy.data() + y * per_row, groups_of(count * plane.h), quant,
                  plane.row((row * plane.v + y) * 8) + x, plane.stride);
    }
  }
}

// Filters take the image's edge to go on: beyond it they find what they expect in the planes.
void Decoder::repeat_edges(int row) {
  const Geometry& g = geometry_;
  if (g.upsampling != Upsampling::kH2V1 && g.upsampling != Upsampling::kH2V2) return;
  for (int c = 1; c < std::min(wanted_, 3); ++c) {
    for (int y = row * 8; y < row * 8 + 8; ++y) {
      uint8_t* samples = planes_[static_cast<size_t>(c)].row(y);
      const int last = g.chroma_width - 1 - g.first_mcu * 8;
      if (g.first_mcu == 0) samples[-1] = samples[0];
      if (g.end_mcu == g.mcus_across) samples[last + 1] = samples[last];
    }
  }
}

// The samples of a component for the region's columns of a row of pixels.
const uint8_t* Decoder::chroma_row(int component, int y, const ImageRegion& region) {
  const Geometry& g = geometry_;
  Plane& plane = planes_[static_cast<size_t>(component)];
  const int origin = g.first_mcu * g.mcu_width();
  if (g.upsampling == Upsampling::kNone) return plane.row(y) + region.x - origin;
  uint8_t* out = upsampled_[static_cast<size_t>(component - 1)].data();
  const int own = y / g.v;
  const bool lower = y % g.v != 0;
  const int beside = std::clamp(lower ? own + 1 : own - 1, 0, g.chroma_height - 1);
  const int first = region.x / g.h;
  const int n = (region.x + region.width - 1) / g.h + 1 - first;
  const int at = first - origin / g.h;
  const uint8_t* near = plane.row(own) + at;
  switch (g.upsampling) {
    case Upsampling::kH2V1: upsample_h2v1(near, n, out); break;
    case Upsampling::kH2V2: upsample_h2v2(near, plane.row(beside) + at, n, out); break;
    case Upsampling::kH1V2: upsample_h1v2(near, plane.row(beside) + at, lower, n, out); break;
    default: repeat_samples(near, n, g.h, out);
  }
  return out + region.x - first * g.h;
}

// Hands rows of pixels to the sink.
void Decoder::emit(int first, int end, RowSink& sink) {
  const ImageRegion& region = sink.region();
  const int x = region.x - geometry_.first_mcu * geometry_.mcu_width();
  for (int y = first; y < end; ++y) {
    const uint8_t* luma = planes_[0].row(y) + x;
    if (wanted_ == 1) {
      sink.put(y, luma);
      continue;
    }
    const uint8_t* second = chroma_row(1, y, region);
    const uint8_t* third = chroma_row(2, y, region);
    uint8_t* in_place = sink.in_place(y);
    uint8_t* out = in_place ? in_place : pixels_.data();
    if (layout_.coding == ColorCoding::kYcc) {
      ycc_to_rgb(luma, second, third, region.width, bgr_, out);
    } else {
      merge_planes(bgr_ ? third : luma, second, bgr_ ? luma : third, region.width, out);
    }
    if (!in_place) sink.put(y, out);
  }
}

// The same for CMYK and YCCK, by way of CMYK pixels. YCbCr stands for the inks' complements there.
void Decoder::emit_inks(int first, int end, RowSink& sink) {
  const ImageRegion& region = sink.region();
  const int x = region.x - geometry_.first_mcu * geometry_.mcu_width();
  const size_t width = static_cast<size_t>(region.width);
  grow(inks_, 4 * width);
  for (int y = first; y < end; ++y) {
    const uint8_t* const c = planes_[0].row(y) + x;
    const uint8_t* const m = chroma_row(1, y, region);
    const uint8_t* const ye = chroma_row(2, y, region);
    const uint8_t* const k = planes_[3].row(y) + x;
    const bool coded = layout_.coding == ColorCoding::kYcck;
    if (coded) {
      ycc_to_rgb(c, m, ye, region.width, /*bgr=*/false, pixels_.data());
    } else {
      merge_planes(c, m, ye, region.width, pixels_.data());
    }
    const uint8_t flip = coded ? 255 : 0;
    for (size_t i = 0; i < width; ++i) {
      for (size_t ink = 0; ink < 3; ++ink) inks_[4 * i + ink] = pixels_[3 * i + ink] ^ flip;
      inks_[4 * i + 3] = k[i];
    }
    cmyk_to_rgb(inks_.data(), pixels_.data(), region.width, /*inverted=*/true);
    sink.put(y, pixels_.data());
  }
}

}  // namespace headrace::jpeg
