// Tests of the LMDB walk and writer with liblmdb as the oracle.
#include "io/lmdb.h"

#include <gmock/gmock.h>
#include <lmdb.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

#include "io/lmdb_writer.h"
#include "io/test_folder.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Records = std::vector<std::pair<std::string, std::string>>;

std::span<const uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string numbered_key(size_t i, size_t width) {
  std::string digits = std::to_string(i);
  return std::string(width - digits.size(), '0') + digits;
}

// Records with ascending keys; value lengths go through those given.
Records make_records(size_t count, size_t key_width, std::vector<size_t> lengths) {
  Records records;
  for (size_t i = 0; i < count; ++i)
    records.emplace_back(numbered_key(i, key_width), std::string(lengths[i % lengths.size()], static_cast<char>(i)));
  return records;
}

std::string write(const TestFolder& folder, const Records& records) {
  const std::string path = folder / "db";
  LmdbWriter writer(path);
  for (const auto& [key, value] : records) writer.append(key, as_bytes(value));
  writer.commit();
  return path;
}

// liblmdb's own view of a database.
class Oracle {
 public:
  explicit Oracle(const std::string& path, unsigned flags = MDB_RDONLY) {
    mdb_env_create(&env_);
    mdb_env_set_mapsize(env_, size_t{1} << 30);
    mdb_env_set_maxdbs(env_, 4);
    EXPECT_EQ(mdb_env_open(env_, path.c_str(), flags | MDB_NOLOCK | MDB_NOSYNC, 0644), 0);
  }
  ~Oracle() { mdb_env_close(env_); }

  MDB_stat stat() const {
    MDB_stat stat;
    mdb_env_stat(env_, &stat);
    return stat;
  }

  Records read() const {
    Records records;
    transact(MDB_RDONLY, nullptr, 0, [&](MDB_txn* txn, MDB_dbi database) {
      MDB_cursor* cursor;
      mdb_cursor_open(txn, database, &cursor);
      for (MDB_val k, v; mdb_cursor_get(cursor, &k, &v, MDB_NEXT) == 0;)
        records.emplace_back(std::string(static_cast<char*>(k.mv_data), k.mv_size),
                             std::string(static_cast<char*>(v.mv_data), v.mv_size));
      mdb_cursor_close(cursor);
    });
    return records;
  }

  // Runs action(transaction, database) and commits.
  template <typename Action>
  void transact(unsigned txn_flags, const char* name, unsigned flags, Action&& action) const {
    MDB_txn* txn;
    MDB_dbi database;
    ASSERT_EQ(mdb_txn_begin(env_, nullptr, txn_flags, &txn), 0);
    ASSERT_EQ(mdb_dbi_open(txn, name, flags, &database), 0);
    action(txn, database);
    ASSERT_EQ(mdb_txn_commit(txn), 0);
  }

 private:
  MDB_env* env_;
};

void put(MDB_txn* txn, MDB_dbi database, std::string key, std::string value) {
  MDB_val k{key.size(), key.data()}, v{value.size(), value.data()};
  ASSERT_EQ(mdb_put(txn, database, &k, &v, 0), 0);
}

Records read(const LmdbTable& table) {
  Records records;
  for (size_t i = 0; i < table.size(); ++i) {
    const auto value = table.value(i);
    records.emplace_back(table.key(i), std::string(value.begin(), value.end()));
  }
  return records;
}

TEST(LmdbTable, AgreesWithLiblmdb) {
  const struct {
    size_t count, key_width;
    std::vector<size_t> lengths;
    unsigned least_depth;
  } cases[] = {
      {1, 1, {0}, 1},
      {5, 8, {1, 2, 3}, 1},
      {3000, 8, {0, 100, 2000, 2030, 2031, 2032, 4080, 4081, 30000}, 2},
      {4000, 400, {10, 1, 0}, 4},
      {500, 511, {5000, 8176, 8177}, 3},
  };
  for (const auto& c : cases) {
    const TestFolder folder;
    const Records expected = make_records(c.count, c.key_width, c.lengths);
    const std::string path = write(folder, expected);
    ASSERT_GE(Oracle(path).stat().ms_depth, c.least_depth);
    EXPECT_EQ(Oracle(path).read(), expected);
    for (const FileAccess access : {FileAccess::kMap, FileAccess::kRead}) {
      LmdbTable first(path, access);
      const LmdbTable table = std::move(first);
      EXPECT_EQ(read(table), expected);
      EXPECT_EQ(read(LmdbTable(path + "/data.mdb", access)), expected);
    }
  }
}

TEST(LmdbTable, AgreesAfterInsertionsAndDeletionsInRandomOrder) {
  const TestFolder folder;
  std::filesystem::create_directory(folder / "db");
  std::mt19937 random(1);
  {
    const Oracle oracle(folder / "db", 0);
    for (int round = 0; round < 6; ++round)
      oracle.transact(0, nullptr, 0, [&](MDB_txn* txn, MDB_dbi database) {
        for (int i = 0; i < 2000; ++i) {
          std::string key = numbered_key(random() % 5000, 4 + random() % 2 * 200 + 1);
          MDB_val k{key.size(), key.data()};
          if (random() % 3 == 0)
            mdb_del(txn, database, &k, nullptr);
          else
            put(txn, database, key, std::string(random() % 50 == 0 ? random() % 20000 : random() % 200, 'x'));
        }
      });
  }
  const Records expected = Oracle(folder / "db").read();
  ASSERT_GT(expected.size(), 3000u);
  EXPECT_EQ(read(LmdbTable(folder / "db")), expected);
}

TEST(LmdbTable, EmptyDatabaseHasNoRecords) {
  const TestFolder folder;
  EXPECT_EQ(LmdbTable(write(folder, {})).size(), 0u);
}

TEST(LmdbTable, DatabaseInOneFileWithoutAFolder) {
  const TestFolder folder;
  Oracle(folder / "file.mdb", MDB_NOSUBDIR).transact(0, nullptr, 0, [](MDB_txn* txn, MDB_dbi database) {
    put(txn, database, "k", "v");
  });
  EXPECT_EQ(read(LmdbTable(folder / "file.mdb")), (Records{{"k", "v"}}));
}

TEST(LmdbTable, NamesARecordByItsKey) {
  const TestFolder folder;
  const std::string path = write(folder, {{std::string("a\0\n", 3), ""}, {"b c", ""}});
  const LmdbTable table(path);
  EXPECT_EQ(table.source_name(0), path + " at key a\\x00\\x0a");
  EXPECT_EQ(table.source_name(1), path + " at key b c");
}

TEST(LmdbTable, RefusesSubDatabasesAndDuplicates) {
  const TestFolder folder;
  Oracle(folder / "sub", MDB_NOSUBDIR).transact(0, "name", MDB_CREATE, [](MDB_txn* txn, MDB_dbi database) {
    put(txn, database, "k", "v");
  });
  EXPECT_THAT(error_of([&] { LmdbTable(folder / "sub"); }), HasSubstr("sub-databases"));
  Oracle(folder / "dup", MDB_NOSUBDIR).transact(0, nullptr, MDB_DUPSORT, [](MDB_txn* txn, MDB_dbi database) {
    put(txn, database, "k", "v");
    put(txn, database, "k", "w");
  });
  EXPECT_THAT(error_of([&] { LmdbTable(folder / "dup"); }), HasSubstr("duplicate keys"));
}

TEST(LmdbWriter, RefusesWhatItCannotWrite) {
  const TestFolder folder;
  const std::string path = write(folder, {{"b", "1"}});
  EXPECT_THAT(error_of([&] { LmdbWriter{path}; }), HasSubstr("exists already"));
  EXPECT_THAT(error_of([&] { LmdbWriter{folder / "no/such"}; }), HasSubstr("No such file"));
  LmdbWriter writer(folder / "other");
  EXPECT_THAT(error_of([&] { writer.append("", {}); }), HasSubstr("1 to 511 bytes, got 0"));
  EXPECT_THAT(error_of([&] { writer.append(std::string(512, 'k'), {}); }), HasSubstr("got 512"));
  writer.append("b", {});
  EXPECT_THAT(error_of([&] { writer.append("a", {}); }), HasSubstr("ascending order, got \"a\""));
  EXPECT_THAT(error_of([&] { writer.append("b", {}); }), HasSubstr("ascending order"));
}

TEST(LmdbWriter, GrowsAndContinuesAfterCommit) {
  const TestFolder folder;
  const std::string large(size_t{40} << 20, 'x');
  LmdbWriter writer(folder / "db");
  for (int i = 0; i < 3; ++i) {
    writer.append(std::to_string(i), as_bytes(large));
    if (i == 0) writer.commit();
  }
  writer.commit();
  const LmdbTable table(folder / "db");
  ASSERT_EQ(table.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(std::memcmp(table.value(i).data(), large.data(), large.size()), 0);
}

}  // namespace
}  // namespace headrace
