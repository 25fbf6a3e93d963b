// The identity of a sample, which randomness, masks, messages, checkpoints and accounting hang on, and its source.
#pragma once

#include <cstdint>
#include <string>

namespace headrace {

// `position` is the sample's place in the global order of its epoch (over all shards); `index` is the record in the
// data set that is found there. Neither depends on batch size, thread count or time.
struct SampleId {
  int64_t epoch = 0;
  int64_t position = 0;
  int64_t index = 0;

  friend bool operator==(const SampleId&, const SampleId&) = default;
};

// Gives the name (file path, "db at key K", ...) of a record, for messages and for get_property("source_info").
class SourceNames {
 public:
  virtual ~SourceNames() = default;
  virtual std::string source_name(int64_t index) const = 0;
};

// Where a sample comes from: a name that is only made when somebody asks.
struct Source {
  const SourceNames* names = nullptr;
  int64_t index = 0;

  std::string name() const { return names ? names->source_name(index) : std::string(); }
};

}  // namespace headrace
