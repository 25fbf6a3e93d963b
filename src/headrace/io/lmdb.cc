// LMDB, read only: the page format and the walk over it.
#include "io/lmdb.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/error.h"

namespace headrace {
namespace {

static_assert(std::endian::native == std::endian::little, "the page format is read as it stands in memory");

template <typename T> T load(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// Page header: page number u64, padding u16, flags u16, then the end of the node index and the start of the nodes
// (u16 each), or on an overflow page the count of pages (u32).
constexpr size_t kPageHeader = 16;
constexpr uint16_t kBranchPage = 0x01, kLeafPage = 0x02, kOverflowPage = 0x04, kMetaPage = 0x08;
// The writer's own bookkeeping may remain set in a page on disk.
constexpr uint16_t kPageKinds = 0x6f;

// Node header: low and high half of the value's length u16 each, flags u16, key length u16; then the key, the value.
// In a branch the first three are the child's page number.
constexpr size_t kNodeHeader = 8;
constexpr uint16_t kBigData = 1, kSubDatabase = 2, kDuplicates = 4;

constexpr uint32_t kMagic = 0xBEEFC0DE;
constexpr uint32_t kVersion = 1;
constexpr size_t kMetaEnd = 152;
constexpr size_t kMinPageSize = 256, kMaxPageSize = 32768;
constexpr uint64_t kNoPage = ~uint64_t{0};
constexpr size_t kMaxDepth = 32;

constexpr uint16_t kReverseKey = 0x02, kDupSort = 0x04, kIntegerKey = 0x08;

// What a meta page says, as far as a reader needs it.
struct Meta {
  size_t page_size;
  uint16_t flags;
  uint16_t depth;
  uint64_t entries;
  uint64_t root;
  uint64_t last_page;
  uint64_t transaction;
};

Meta read_meta(std::span<const uint8_t> bytes, size_t offset, const std::string& path) {
  check(bytes.size() >= kMetaEnd && offset <= bytes.size() - kMetaEnd,
        "[lmdb] {}: not a complete LMDB data file: it has only {} bytes", path, bytes.size());
  const uint8_t* p = bytes.data() + offset;
  check((load<uint16_t>(p + 10) & kPageKinds) == kMetaPage && load<uint32_t>(p + 16) == kMagic,
        "[lmdb] {}: not an LMDB data file, or damaged: no meta page at byte {}", path, offset);
  const uint32_t version = load<uint32_t>(p + 20);
  if (version != kVersion)
    fail(ErrorKind::kUnsupported, "[lmdb] {}: expected data format version {}, got {}", path, kVersion, version);
  const Meta meta{load<uint32_t>(p + 40),  load<uint16_t>(p + 92),  load<uint16_t>(p + 94), load<uint64_t>(p + 120),
                  load<uint64_t>(p + 128), load<uint64_t>(p + 136), load<uint64_t>(p + 144)};
  check(std::has_single_bit(meta.page_size) && meta.page_size >= kMinPageSize && meta.page_size <= kMaxPageSize,
        "[lmdb] {}: damaged meta page at byte {}: page size {}", path, offset, meta.page_size);
  return meta;
}

// Of the two meta pages, written in turn, the later one counts. Both must be sound, as liblmdb demands too: falling
// back on the earlier one would lose records without a word.
Meta latest_meta(std::span<const uint8_t> bytes, const std::string& path) {
  const Meta first = read_meta(bytes, 0, path);
  const Meta second = read_meta(bytes, first.page_size, path);
  check(first.page_size == second.page_size, "[lmdb] {}: damaged meta pages: page sizes {} and {}", path,
        first.page_size, second.page_size);
  return first.transaction >= second.transaction ? first : second;
}

}  // namespace

// One walk from the root to all leaves, with checks on everything that is followed.
class LmdbWalk {
 public:
  explicit LmdbWalk(LmdbTable& table)
      : table_(table), path_(table.path_), bytes_(table.bytes_), meta_(latest_meta(bytes_, path_)) {}

  void run() {
    if (meta_.flags & kDupSort)
      fail(ErrorKind::kUnsupported, "[lmdb] {}: databases with duplicate keys (MDB_DUPSORT) are not supported", path_);
    table_.page_size_ = meta_.page_size;
    check(meta_.last_page < kNoPage / meta_.page_size, "[lmdb] {}: damaged meta page: last page {}", path_,
          meta_.last_page);
    if (meta_.root != kNoPage) {
      check(meta_.depth > 0 && meta_.depth <= kMaxDepth, "[lmdb] {}: damaged meta page: tree of depth {}", path_,
            meta_.depth);
      // The file's size bounds what a damaged entry count can reserve.
      table_.records_.reserve(std::min<uint64_t>(meta_.entries, bytes_.size() / (kNodeHeader + 2)));
      walk_tree();
    }
    check(table_.records_.size() == meta_.entries, "[lmdb] {}: damaged: expected {} records, found {}", path_,
          meta_.entries, table_.records_.size());
  }

 private:
  struct Page {
    const uint8_t* data;
    uint64_t number;
    size_t nodes;
  };
  struct Level {
    Page page;
    size_t next;
  };

  // Depth first with a stack of our own, leaves in key order.
  void walk_tree() {
    Level stack[kMaxDepth];
    size_t depth = 0;
    uint64_t next = meta_.root;
    uint64_t parent = meta_.transaction % 2;  // for messages: the meta page
    for (;;) {
      const bool leaf = depth + 1 == meta_.depth;
      const Page page = open_page(next, leaf ? kLeafPage : kBranchPage, parent);
      if (leaf) {
        for (size_t i = 0; i < page.nodes; ++i) add_record(page, node(page, i));
      } else {
        stack[depth++] = {page, 0};
      }
      while (depth > 0 && stack[depth - 1].next == stack[depth - 1].page.nodes) --depth;
      if (depth == 0) return;
      Level& level = stack[depth - 1];
      next = child(node(level.page, level.next++));
      parent = level.page.number;
    }
  }

  // Checks that page `number` is inside the file, of the right kind and has a sound index. Each page is visited at
  // most once in a sound tree, so counting visits rules out cycles.
  Page open_page(uint64_t number, uint16_t kind, uint64_t parent) {
    check_range(number, 1, parent);
    check(++visited_ <= meta_.last_page, "[lmdb] {}: damaged: page {} is reached twice", path_, number);
    const uint8_t* data = bytes_.data() + number * meta_.page_size;
    const uint64_t own_number = load<uint64_t>(data);
    check(own_number == number, "[lmdb] {}: page {} is damaged: it says it is page {}", path_, number, own_number);
    const uint16_t flags = load<uint16_t>(data + 10);
    check((flags & kPageKinds) == kind, "[lmdb] {}: page {} is damaged: expected a {} page, got flags {:#x}", path_,
          number, kind == kLeafPage ? "leaf" : "branch", flags);
    const size_t lower = load<uint16_t>(data + 12);
    const size_t upper = load<uint16_t>(data + 14);
    check(lower > kPageHeader && lower % 2 == 0 && lower <= upper && upper <= meta_.page_size,
          "[lmdb] {}: page {} is damaged: its index ends at {}, its nodes begin at {}", path_, number, lower, upper);
    return {data, number, (lower - kPageHeader) / 2};
  }

  // Fails unless pages [number, number + count) exist; `user` is the page that refers to them.
  void check_range(uint64_t number, uint64_t count, uint64_t user) const {
    check(number >= 2 && number <= meta_.last_page && count <= meta_.last_page - number + 1,
          "[lmdb] {}: page {} is damaged: it refers to {} pages from page {} on, of {}", path_, user, count, number,
          meta_.last_page + 1);
    check(number + count <= bytes_.size() / meta_.page_size,
          "[lmdb] {}: the file was cut: it has {} bytes, its headers claim {}; page {} is missing; do copy it again",
          path_, bytes_.size(), (meta_.last_page + 1) * meta_.page_size, number);
  }

  // The node's header and key lie inside the page, behind the index.
  const uint8_t* node(const Page& page, size_t i) const {
    const size_t offset = load<uint16_t>(page.data + kPageHeader + 2 * i);
    check(offset >= kPageHeader + 2 * page.nodes && offset + kNodeHeader <= meta_.page_size &&
              load<uint16_t>(page.data + offset + 6) <= meta_.page_size - offset - kNodeHeader,
          "[lmdb] {}: page {} is damaged: node {} at offset {} leaves the page", path_, page.number, i, offset);
    return page.data + offset;
  }

  static uint64_t child(const uint8_t* node) { return load<uint64_t>(node) & 0xffff'ffff'ffff; }

  void add_record(const Page& page, const uint8_t* node) {
    const uint16_t flags = load<uint16_t>(node + 4);
    if (flags & (kSubDatabase | kDuplicates))
      fail(ErrorKind::kUnsupported, "[lmdb] {}: page {}: sub-databases and duplicate keys are not supported", path_,
           page.number);
    const uint32_t length = load<uint32_t>(node);
    const uint16_t key_length = load<uint16_t>(node + 6);
    const uint8_t* key = node + kNodeHeader;
    const uint8_t* value = key + key_length;
    const size_t room = static_cast<size_t>(page.data + meta_.page_size - value);
    const bool overflow = flags & kBigData;
    check((overflow ? sizeof(uint64_t) : length) <= room,
          "[lmdb] {}: page {} is damaged: a value of {} bytes leaves the page", path_, page.number, length);
    if (overflow) value = overflow_value(page, load<uint64_t>(value), length);
    check_order(page, key, key_length);
    check(table_.records_.size() < meta_.entries, "[lmdb] {}: damaged: expected {} records, found more", path_,
          meta_.entries);
    table_.records_.push_back({value, key, length, key_length, overflow});
  }

  const uint8_t* overflow_value(const Page& page, uint64_t number, uint32_t length) {
    const uint64_t count = (kPageHeader + length + meta_.page_size - 1) / meta_.page_size;
    check_range(number, count, page.number);
    visited_ += count;
    check(visited_ <= meta_.last_page, "[lmdb] {}: damaged: overflow page {} is reached twice", path_, number);
    return bytes_.data() + number * meta_.page_size + kPageHeader;
  }

  // Ascending keys prove that no leaf was taken for another one.
  void check_order(const Page& page, const uint8_t* key, uint16_t length) const {
    if (table_.records_.empty() || (meta_.flags & (kReverseKey | kIntegerKey))) return;
    const LmdbTable::Record& last = table_.records_.back();
    const int order = std::memcmp(last.key, key, std::min(last.key_length, length));
    check(order < 0 || (order == 0 && last.key_length < length),
          "[lmdb] {}: page {}: keys are not in ascending order: the file is damaged, or its writer had an order of "
          "its own",
          path_, page.number);
  }

  LmdbTable& table_;
  const std::string& path_;
  const std::span<const uint8_t> bytes_;
  const Meta meta_;
  uint64_t visited_ = 1;  // pages 0 and 1 are the meta pages, so last_page - 1 remain
};

LmdbTable::LmdbTable(const std::string& path, FileAccess access) : path_(path) {
  file_.emplace(is_directory(path) ? path + "/data.mdb" : path, access);
  bytes_ = file_->bytes();
  LmdbWalk(*this).run();
}

LmdbTable::LmdbTable(std::span<const uint8_t> data_file, std::string name) : path_(std::move(name)), bytes_(data_file) {
  LmdbWalk(*this).run();
}

void LmdbTable::check_overflow_page(const Record& record) const {
  const uint8_t* page = record.value - kPageHeader;
  const uint64_t number = static_cast<uint64_t>(page - bytes_.data()) / page_size_;
  const uint64_t pages = load<uint32_t>(page + 12);
  check(load<uint64_t>(page) == number && (load<uint16_t>(page + 10) & kPageKinds) == kOverflowPage &&
            pages * page_size_ >= kPageHeader + record.length,
        "[lmdb] {}: page {} is damaged: expected an overflow page with {} bytes", path_, number, record.length);
}

std::string LmdbTable::source_name(size_t index) const {
  std::string name = path_ + " at key ";
  for (const char c : key(index)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f)
      name += c;
    else
      fmt::format_to(std::back_inserter(name), "\\x{:02x}", byte);
  }
  return name;
}

void LmdbTable::read_ahead() const {
  if (file_) file_->read_ahead();
}

}  // namespace headrace
