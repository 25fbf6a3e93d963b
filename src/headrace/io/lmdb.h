// LMDB, read only: our own bounds-checked walk over a data.mdb, which yields its records as a table.
//
// liblmdb follows page numbers and offsets without checks, so a file that was cut or damaged kills the process. This
// walk checks everything it follows. Format: LMDB 0.9 on a 64-bit little-endian machine (data version 1), as
// documented by the structures of liblmdb's mdb.c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/prefetch.h"
#include "io/file.h"

namespace headrace {

// The records of an LMDB's main database, in key order. Immutable and thread safe.
//
// Opening walks the branch and leaf pages and checks them. Large values lie on pages of their own, which are bounds
// checked when opening but touched only by value(): opening a large data set doesn't read its images.
// The table is a snapshot: an LMDB that is written at the same time must be opened again.
class LmdbTable {
 public:
  // `path` is the database's folder or its data file. With FileAccess::kRead the whole file is read into memory once.
  // Errors name the file, the page and what is wrong with it; a file shorter than its headers claim is an error if any
  // record's page is missing; sub-databases and duplicate keys (MDB_DUPSORT) are refused as unsupported.
  explicit LmdbTable(const std::string& path, FileAccess access = FileAccess::kMap);
  // The same for a data file in memory, which must outlive the table; `name` stands for the path in messages.
  LmdbTable(std::span<const uint8_t> data_file, std::string name);

  size_t size() const { return records_.size(); }
  // Valid as long as the table, also when that is moved. Fails if the record's overflow page is damaged.
  std::span<const uint8_t> value(size_t index) const {
    const Record& record = records_[index];
    if (record.overflow) check_overflow_page(record);
    return {record.value, record.length};
  }
  // Asks the processor for the first bytes of the record; for those of the entry that tells where they are.
  void prefetch(size_t index) const { prefetch_bytes(records_[index].value, records_[index].length); }
  void prefetch_entry(size_t index) const { prefetch_bytes(&records_[index], sizeof(Record)); }
  std::string_view key(size_t index) const {
    return {reinterpret_cast<const char*>(records_[index].key), records_[index].key_length};
  }
  // "PATH at key K", as DALI names a record; bytes of the key that aren't printable ASCII appear as \xNN.
  std::string source_name(size_t index) const;
  // The path that was opened.
  const std::string& path() const { return path_; }
  // Asks the kernel to load the whole file; returns at once.
  void read_ahead() const;

 private:
  friend class LmdbWalk;
  struct Record {
    const uint8_t* value;
    const uint8_t* key;
    uint32_t length;
    uint16_t key_length;
    bool overflow;
  };

  void check_overflow_page(const Record& record) const;

  std::string path_;
  std::optional<FileBytes> file_;  // empty: the bytes belong to the caller
  std::span<const uint8_t> bytes_;
  size_t page_size_ = 0;
  std::vector<Record> records_;
};

}  // namespace headrace
