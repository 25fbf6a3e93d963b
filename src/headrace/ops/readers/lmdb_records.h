// The records of one or several LMDBs, one behind the other, for readers.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/op_spec.h"
#include "io/lmdb.h"

namespace headrace {

// Immutable and thread safe.
class LmdbRecords {
 public:
  // Opens every database of the argument `path`; mapped, or read into memory if `dont_use_mmap`. Errors name the path.
  explicit LmdbRecords(const OpSpec& spec);

  // Number of records, > 0.
  int64_t size() const { return starts_.back(); }
  // Bytes of record `index`, valid as long as this object.
  std::span<const uint8_t> operator[](int64_t index) const {
    const size_t t = table_of(index);
    return tables_[t].value(static_cast<size_t>(index - starts_[t]));
  }
  // As SampleOperator::prefetch().
  void prefetch(int64_t soon, int64_t later) const {
    const size_t s = table_of(soon), l = table_of(later);
    tables_[l].prefetch_entry(static_cast<size_t>(later - starts_[l]));
    tables_[s].prefetch(static_cast<size_t>(soon - starts_[s]));
  }
  // "PATH at key K".
  std::string source_name(int64_t index) const;

 private:
  size_t table_of(int64_t index) const {
    size_t t = 0;
    while (index >= starts_[t + 1]) ++t;
    return t;
  }

  std::vector<LmdbTable> tables_;
  std::vector<int64_t> starts_;  // the first index of each table, and the number of all records
};

}  // namespace headrace
