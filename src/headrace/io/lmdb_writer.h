// LMDB, writing: a new database filled in key order through liblmdb.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

struct MDB_env;
struct MDB_txn;

namespace headrace {

// Writes one new LMDB. Not thread safe. The database grows as needed; records reach the disk in transactions of about
// 64 MB, so a writer that ends without commit() leaves a readable database with a part of the records: write
// to a temporary folder and rename it when the whole must appear at once.
class LmdbWriter {
 public:
  // Creates `folder` with data.mdb in it. The folder may exist, but a database in it is an error.
  explicit LmdbWriter(std::string folder);
  ~LmdbWriter();
  LmdbWriter(const LmdbWriter&) = delete;
  LmdbWriter& operator=(const LmdbWriter&) = delete;

  // Adds a record. Keys have 1 to 511 bytes and come in ascending order (bytes compared as unsigned numbers).
  void append(std::string_view key, std::span<const uint8_t> value);
  // Writes what was appended and waits until it is on the disk. More may follow.
  void commit();

 private:
  void begin(size_t bytes);
  void end();

  std::string folder_;
  MDB_env* env_ = nullptr;
  MDB_txn* txn_ = nullptr;
  unsigned database_ = 0;
  size_t page_size_ = 0;
  size_t map_size_ = 0;
  size_t budget_ = 0;  // bytes that the open transaction may still fill, at least
};

}  // namespace headrace
