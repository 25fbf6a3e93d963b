// LMDB, writing: transactions, and a map that grows between them.
#include "io/lmdb_writer.h"

#include <lmdb.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "io/file.h"

namespace headrace {
namespace {

constexpr size_t kTransactionBytes = size_t{64} << 20;
// Room for the pages of the tree itself, which a transaction rewrites.
constexpr size_t kSpareBytes = size_t{16} << 20;
constexpr size_t kMapGranule = size_t{16} << 20;

void check_lmdb(int status, const std::string& folder, const char* action) {
  check(status == MDB_SUCCESS, "[lmdb] {}: cannot {}: {}", folder, action, mdb_strerror(status));
}

}  // namespace

LmdbWriter::LmdbWriter(std::string folder) : folder_(std::move(folder)) {
  const int error = mkdir(folder_.c_str(), 0777) == 0 ? 0 : errno;
  check(error == 0 || (error == EEXIST && is_directory(folder_)), "[lmdb] {}: cannot create the folder: {}", folder_,
        strerror(error));
  struct stat info;
  check(stat((folder_ + "/data.mdb").c_str(), &info) != 0,
        "[lmdb] {}: a database exists already; do choose another folder or remove it", folder_);
  check_lmdb(mdb_env_create(&env_), folder_, "create a database");
  try {
    // The file is new and ours alone: no lock file, and one flush per commit() instead of one per transaction.
    check_lmdb(mdb_env_open(env_, folder_.c_str(), MDB_NOLOCK | MDB_NOSYNC, 0644), folder_, "create a database");
    MDB_stat stat;
    check_lmdb(mdb_env_stat(env_, &stat), folder_, "read the page size");
    page_size_ = stat.ms_psize;
    begin(0);
  } catch (...) {
    if (txn_) mdb_txn_abort(txn_);
    mdb_env_close(env_);
    throw;
  }
}

LmdbWriter::~LmdbWriter() {
  if (txn_) mdb_txn_abort(txn_);
  mdb_env_close(env_);
}

void LmdbWriter::append(std::string_view key, std::span<const uint8_t> value) {
  check_value(!key.empty() && key.size() <= static_cast<size_t>(mdb_env_get_maxkeysize(env_)),
              "[lmdb] key: expected 1 to {} bytes, got {}", mdb_env_get_maxkeysize(env_), key.size());
  check_value(value.size() <= UINT32_MAX, "[lmdb] value: expected at most 4 GB, got {} bytes", value.size());
  // At worst a record fills a leaf page of its own and overflow pages.
  const size_t cost = value.size() + 3 * page_size_;
  if (txn_ && cost > budget_) end();
  if (!txn_) begin(cost);
  MDB_val k{key.size(), const_cast<char*>(key.data())};
  MDB_val v{value.size(), const_cast<uint8_t*>(value.data())};
  const int status = mdb_put(txn_, database_, &k, &v, MDB_APPEND);
  check_value(status != MDB_KEYEXIST, "[lmdb] {}: keys must come in ascending order, got \"{}\" behind a larger one",
              folder_, key);
  check_lmdb(status, folder_, "write a record");
  budget_ -= cost;
}

void LmdbWriter::commit() {
  if (txn_) end();
  check_lmdb(mdb_env_sync(env_, 1), folder_, "flush the records");
}

// Opens a transaction that has room for `bytes` at least; the map can only grow while none is open.
void LmdbWriter::begin(size_t bytes) {
  budget_ = std::max(bytes, kTransactionBytes);
  MDB_envinfo info;
  check_lmdb(mdb_env_info(env_, &info), folder_, "read the database's size");
  const size_t needed = (info.me_last_pgno + 1) * page_size_ + budget_ + kSpareBytes;
  if (needed > map_size_) {
    map_size_ = (std::max(needed, 2 * map_size_) + kMapGranule - 1) / kMapGranule * kMapGranule;
    check_lmdb(mdb_env_set_mapsize(env_, map_size_), folder_, "enlarge the database");
  }
  check_lmdb(mdb_txn_begin(env_, nullptr, 0, &txn_), folder_, "begin a transaction");
  check_lmdb(mdb_dbi_open(txn_, nullptr, 0, &database_), folder_, "open the main database");
}

void LmdbWriter::end() { check_lmdb(mdb_txn_commit(std::exchange(txn_, nullptr)), folder_, "commit a transaction"); }

}  // namespace headrace
