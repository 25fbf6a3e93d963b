// Sampler: the order in which a reader's records come: shards, epochs, padding, shuffling. The one place for all
// readers.
//
// Stage k of a reader's endless stream is one shard of epoch k: shard (shard_id + k) mod S, or always shard_id with
// stick_to_shard. So in each epoch the S readers of a group see every record exactly once. Nothing is stored: any
// sample of the stream is computed from its number, which is all that a checkpoint needs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/permutation.h"
#include "core/sample_id.h"
#include "exec/reader_meta.h"

namespace headrace {

// The sampling arguments of a reader, with DALI's names and meanings.
struct SamplerOptions {
  int64_t num_samples = 0;  // N, > 0
  int num_shards = 1;       // S, 1 .. N
  int shard_id = 0;         // 0 .. S-1
  bool stick_to_shard = false;
  bool pad_last_batch = false;
  // One fixed permutation of all records (the same for every seed), cut into shards; then one inside the shard per
  // epoch, which initial_fill = 1 switches off.
  bool random_shuffle = false;
  int64_t initial_fill = 1024;
  // A permutation of all records per epoch by shuffle_after_epoch_seed (-1: a fixed one), cut into shards.
  bool shuffle_after_epoch = false;
  int64_t shuffle_after_epoch_seed = -1;
  // headrace's own: a permutation of all records per epoch by `seed`, cut into shards.
  bool global_shuffle = false;
  uint64_t seed = 0;   // the reader's; readers of equal seed and N have equal order
  int batch_size = 1;  // matters for pad_last_batch only
};

// Positions [begin, end) of the global order of an epoch.
struct PositionRange {
  int64_t begin = 0;
  int64_t end = 0;

  friend bool operator==(const PositionRange&, const PositionRange&) = default;
};

// What is left of an epoch that was begun with `num_shards` shards: where a stream resumes with another number of
// them. `ranges` are in the order of delivery.
struct Remainder {
  int64_t epoch = 0;
  int num_shards = 1;
  std::vector<PositionRange> ranges;  // each inside one of the num_shards shards
  int64_t longest = 0;                // records of the longest part among the ranks, to which padding fills up

  int64_t size() const;
  friend bool operator==(const Remainder&, const Remainder&) = default;
};

// Immutable: one object serves any number of threads.
class Sampler {
 public:
  // `reader` is the display name for messages ("readers.file"). With `start` the stream begins with those positions
  // and goes on with the next epoch. kRuntime errors name the argument.
  Sampler(SamplerOptions options, const std::string& reader, std::optional<Remainder> start = std::nullopt);

  // The n-th sample of the stream, n >= 0. `position` is its place in the order of its epoch over all shards, the key
  // of its randomness. Repeats by pad_last_batch have positions of their own from N on, which depend on nothing but
  // the shard and the number of the repeat.
  SampleId at(int64_t n) const;
  // Samples first, first + 1, ...
  void fill(int64_t first, std::span<SampleId> ids) const;

  // The `attempt`-th substitute for a bad sample: another record of the same shard, equally likely each, under the
  // same epoch and position. A shard with one record has no other: the record itself.
  SampleId substitute(const SampleId& id, int attempt) const;

  bool is_padding(const SampleId& id) const { return id.position >= options_.num_samples; }
  // Number of the first sample of `epoch` in this stream, >= the epoch that it started with; the stage's length is the
  // difference of two neighbours.
  int64_t epoch_begin(int64_t epoch) const;
  int64_t first_epoch() const { return start_ ? start_->epoch : 0; }

  const SamplerOptions& options() const { return options_; }
  const std::optional<Remainder>& start() const { return start_; }
  ReaderMeta meta() const;
  // Records of a shard, without padding.
  int64_t shard_size(int shard) const;

  // What the epoch of the n-th sample still has to give after n samples; nothing if that was its last.
  Remainder remaining(int64_t n) const;

 private:
  struct Place {        // of a sample in a whole stage
    int64_t stage = 0;  // counted after the remainder
    int shard = 0;
    int64_t offset = 0;
  };

  void check_options(const std::string& reader) const;
  bool sticks() const { return options_.stick_to_shard || options_.shuffle_after_epoch; }
  PositionRange shard_range(int64_t shard, int num_shards) const;
  int shard_of(int64_t position, int num_shards) const;
  int64_t padded_length(int64_t longest) const;
  int shard_of_stage(int64_t stage) const;
  int64_t stage_length(int shard) const;
  int64_t stage_begin(int64_t stage) const;
  Place place_of(int64_t n) const;
  void fill_part(int64_t epoch, int num_shards, int pad_shard, std::span<const PositionRange> ranges, int64_t offset,
                 std::span<SampleId> ids) const;
  void find_records(int num_shards, std::span<SampleId> ids) const;

  SamplerOptions options_;
  std::optional<Remainder> start_;
  int64_t start_length_ = 0;  // with padding
  int64_t base_epoch_ = 0;    // of the first whole stage
  std::optional<Permutation> fixed_order_;
};

// Cuts the concatenated remainders of all ranks of a group anew: the part of rank shard_id of num_shards. The ranks
// must be in the same epoch; a rank that just finished it counts. kRuntime otherwise.
Remainder reshard(std::span<const Remainder> ranks, int num_shards, int shard_id);

}  // namespace headrace
