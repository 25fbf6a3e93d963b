// Opening LMDBs for readers.
#include "ops/readers/lmdb_records.h"

namespace headrace {

LmdbRecords::LmdbRecords(const OpSpec& spec) : starts_{0} {
  const std::vector<std::string>& paths = spec.get_strings("path");
  check(!paths.empty(), "{}: expected the path of an LMDB or a list of them, got an empty list", spec.about("path"));
  const FileAccess access = spec.get_bool("dont_use_mmap") ? FileAccess::kRead : FileAccess::kMap;
  tables_.reserve(paths.size());
  for (const std::string& path : paths) {
    try {
      tables_.emplace_back(path, access);
    } catch (const Error& error) {
      fail(error.kind(), "{}: {}", spec.about("path"), error.message());
    }
    starts_.push_back(starts_.back() + static_cast<int64_t>(tables_.back().size()));
  }
  check(size() > 0, "{}: expected a database with records, got none in {}", spec.about("path"), paths[0]);
}

std::string LmdbRecords::source_name(int64_t index) const {
  const size_t t = table_of(index);
  return tables_[t].source_name(static_cast<size_t>(index - starts_[t]));
}

}  // namespace headrace
