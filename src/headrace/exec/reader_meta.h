// ReaderMeta: the numbers that Pipeline.reader_meta() tells and that iterators count epochs by.
#pragma once

#include <cstdint>

namespace headrace {

struct ReaderMeta {
  int64_t epoch_size = 0;         // records
  int64_t epoch_size_padded = 0;  // with pad_last_batch: the longest shard's size times the number of shards
  int64_t number_of_shards = 1;
  int64_t shard_id = 0;
  bool pad_last_batch = false;
  bool stick_to_shard = false;
};

}  // namespace headrace
