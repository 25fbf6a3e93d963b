// The order of a reader's records, computed from the number of the sample.
#include "exec/sampler.h"

#include <algorithm>

#include "core/error.h"

namespace headrace {
namespace {

// Streams of different purpose under one seed.
constexpr uint64_t kFixedOrder = 0x5A3C6E1F00000001u;
constexpr uint64_t kShardOrder = 0x5A3C6E1F00000002u;
constexpr uint64_t kEpochOrder = 0x5A3C6E1F00000003u;
constexpr uint64_t kSubstitute = 0x5A3C6E1F00000100u;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t length_of(std::span<const PositionRange> ranges) {
  int64_t length = 0;
  for (const PositionRange& range : ranges) length += range.end - range.begin;
  return length;
}

// The parts of `ranges` between the offsets begin and end of their concatenation.
std::vector<PositionRange> cut(std::span<const PositionRange> ranges, int64_t begin, int64_t end) {
  std::vector<PositionRange> part;
  for (const PositionRange& range : ranges) {
    const int64_t length = range.end - range.begin;
    const PositionRange piece = {range.begin + std::clamp<int64_t>(begin, 0, length),
                                 range.begin + std::clamp<int64_t>(end, 0, length)};
    if (piece.begin < piece.end) part.push_back(piece);
    begin -= length;
    end -= length;
  }
  return part;
}

}  // namespace

int64_t Remainder::size() const { return length_of(ranges); }

Sampler::Sampler(SamplerOptions options, const std::string& reader, std::optional<Remainder> start)
    : options_(options), start_(std::move(start)) {
  check_options(reader);
  if (options_.random_shuffle) fixed_order_.emplace(options_.num_samples, RandomStream(kFixedOrder, 0, 0));
  if (!start_) return;
  base_epoch_ = start_->epoch + 1;
  start_length_ = options_.pad_last_batch ? padded_length(start_->longest) : start_->size();
  check(start_length_ == 0 || !start_->ranges.empty(),
        "[{}] num_shards: fewer samples remain in the epoch than there are shards ({}); resume with fewer shards",
        reader, options_.num_shards);
}

void Sampler::check_options(const std::string& reader) const {
  const SamplerOptions& o = options_;
  check(o.num_samples > 0, "[{}] expected at least one sample, found none", reader);
  check(o.num_shards >= 1 && o.num_shards <= o.num_samples,
        "[{}] num_shards: expected 1 to {}, the number of samples, got {}", reader, o.num_samples, o.num_shards);
  check(o.shard_id >= 0 && o.shard_id < o.num_shards, "[{}] shard_id: expected 0 to {}, as num_shards is {}, got {}",
        reader, o.num_shards - 1, o.num_shards, o.shard_id);
  check(!o.shuffle_after_epoch || !o.random_shuffle,
        "[{}] shuffle_after_epoch: excludes random_shuffle; choose one of them", reader);
  check(!o.shuffle_after_epoch || !o.stick_to_shard,
        "[{}] shuffle_after_epoch: excludes stick_to_shard; leave one of them out", reader);
  check(!o.global_shuffle || !(o.random_shuffle || o.shuffle_after_epoch),
        "[{}] global_shuffle: excludes random_shuffle and shuffle_after_epoch; choose one of them", reader);
  check(!o.random_shuffle || o.initial_fill >= 1, "[{}] initial_fill: expected at least 1, got {}", reader,
        o.initial_fill);
  check_internal(o.batch_size >= 1, "[{}] batch size {}", reader, o.batch_size);
}

// Shard i of S is [floor(i N / S), floor((i + 1) N / S)).
PositionRange Sampler::shard_range(int64_t shard, int num_shards) const {
  return {shard * options_.num_samples / num_shards, (shard + 1) * options_.num_samples / num_shards};
}

int Sampler::shard_of(int64_t position, int num_shards) const {
  return static_cast<int>(((position + 1) * num_shards - 1) / options_.num_samples);
}

int64_t Sampler::shard_size(int shard) const {
  const PositionRange range = shard_range(shard, options_.num_shards);
  return range.end - range.begin;
}

// Padding gives every rank the same number of full batches.
int64_t Sampler::padded_length(int64_t longest) const {
  return options_.batch_size * ceil_div(longest, options_.batch_size);
}

int Sampler::shard_of_stage(int64_t stage) const {
  if (sticks()) return options_.shard_id;
  return static_cast<int>((options_.shard_id + base_epoch_ + stage) % options_.num_shards);
}

int64_t Sampler::stage_length(int shard) const {
  if (!options_.pad_last_batch) return shard_size(shard);
  return padded_length(ceil_div(options_.num_samples, options_.num_shards));
}

// Samples between the end of the remainder and the begin of `stage`.
int64_t Sampler::stage_begin(int64_t stage) const {
  const int first = shard_of_stage(0);
  if (options_.pad_last_batch || sticks()) return stage * stage_length(first);
  const int64_t rounds = stage / options_.num_shards;
  const int64_t last = first + stage % options_.num_shards;  // floor((i + S) N / S) continues the sequence past S
  return rounds * options_.num_samples + shard_range(last, options_.num_shards).begin -
         shard_range(first, options_.num_shards).begin;
}

// The n-th sample after the remainder.
Sampler::Place Sampler::place_of(int64_t n) const {
  const int first = shard_of_stage(0);
  if (options_.pad_last_batch || sticks()) {
    const int64_t length = stage_length(first);
    return {n / length, shard_of_stage(n / length), n % length};
  }
  const int64_t samples = options_.num_samples;
  const int64_t position = (shard_range(first, options_.num_shards).begin + n % samples) % samples;
  const int shard = shard_of(position, options_.num_shards);
  const int behind_first = (shard - first + options_.num_shards) % options_.num_shards;
  return {n / samples * options_.num_shards + behind_first, shard,
          position - shard_range(shard, options_.num_shards).begin};
}

SampleId Sampler::at(int64_t n) const {
  SampleId id;
  fill(n, {&id, 1});
  return id;
}

void Sampler::fill(int64_t first, std::span<SampleId> ids) const {
  if (first < start_length_ && !ids.empty()) {
    const size_t count = std::min<size_t>(ids.size(), start_length_ - first);
    fill_part(start_->epoch, start_->num_shards, options_.shard_id, start_->ranges, first, ids.first(count));
    ids = ids.subspan(count);
    first += static_cast<int64_t>(count);
  }
  if (ids.empty()) return;
  Place place = place_of(first - start_length_);
  while (!ids.empty()) {
    const size_t count = std::min<size_t>(ids.size(), stage_length(place.shard) - place.offset);
    const PositionRange range = shard_range(place.shard, options_.num_shards);
    fill_part(base_epoch_ + place.stage, options_.num_shards, place.shard, {&range, 1}, place.offset, ids.first(count));
    ids = ids.subspan(count);
    place = {place.stage + 1, shard_of_stage(place.stage + 1), 0};
  }
}

// The samples from `offset` on of one rank's part of an epoch, behind its end repeats of its last record.
void Sampler::fill_part(int64_t epoch, int num_shards, int pad_shard, std::span<const PositionRange> ranges,
                        int64_t offset, std::span<SampleId> ids) const {
  for (const PositionRange& range : ranges) {
    if (ids.empty()) return;
    const int64_t length = range.end - range.begin;
    if (offset < length) {
      const size_t count = std::min<size_t>(ids.size(), length - offset);
      for (size_t i = 0; i < count; ++i) ids[i] = {epoch, range.begin + offset + static_cast<int64_t>(i), 0};
      find_records(num_shards, ids.first(count));
      ids = ids.subspan(count);
      offset = length;
    }
    offset -= length;
  }
  if (ids.empty()) return;
  SampleId last = {epoch, ranges.back().end - 1, 0};
  find_records(num_shards, {&last, 1});
  for (SampleId& id : ids) {
    id = {epoch, options_.num_samples + offset * options_.num_shards + pad_shard, last.index};
    ++offset;
  }
}

// Sets the records at the positions of `ids`, which all lie in one shard of one epoch.
void Sampler::find_records(int num_shards, std::span<SampleId> ids) const {
  const SamplerOptions& o = options_;
  const int64_t epoch = ids[0].epoch;
  if (o.shuffle_after_epoch || o.global_shuffle) {
    const uint64_t seed = o.global_shuffle ? o.seed : static_cast<uint64_t>(o.shuffle_after_epoch_seed);
    const Permutation order(o.num_samples, RandomStream(seed ^ kEpochOrder, epoch, 0));
    for (SampleId& id : ids) id.index = order(id.position);
  } else if (o.random_shuffle && o.initial_fill > 1) {
    const int shard = shard_of(ids[0].position, num_shards);
    const PositionRange range = shard_range(shard, num_shards);
    const Permutation order(range.end - range.begin, RandomStream(o.seed ^ kShardOrder, epoch, shard));
    for (SampleId& id : ids) id.index = (*fixed_order_)(range.begin + order(id.position - range.begin));
  } else if (o.random_shuffle) {
    for (SampleId& id : ids) id.index = (*fixed_order_)(id.position);
  } else {
    for (SampleId& id : ids) id.index = id.position;
  }
}

SampleId Sampler::substitute(const SampleId& id, int attempt) const {
  const bool in_start = start_ && id.epoch == start_->epoch;
  const int num_shards = in_start ? start_->num_shards : options_.num_shards;
  const int shard = is_padding(id) ? static_cast<int>((id.position - options_.num_samples) % options_.num_shards)
                                   : shard_of(id.position, num_shards);
  const PositionRange whole = shard_range(shard, num_shards);
  const std::span<const PositionRange> ranges =
      in_start ? std::span<const PositionRange>(start_->ranges) : std::span<const PositionRange>(&whole, 1);
  const int64_t length = length_of(ranges);
  if (length < 2) return id;

  int64_t own = 0;  // the place of `id` in the part; a repeat stands for the last record
  for (const PositionRange& range : ranges) {
    if (id.position >= range.begin && id.position < range.end) {
      own += id.position - range.begin;
      break;
    }
    own += range.end - range.begin;
  }
  own = std::min(own, length - 1);
  RandomStream random(options_.seed ^ (kSubstitute + static_cast<uint64_t>(attempt)), id.epoch, id.position);
  int64_t drawn = static_cast<int64_t>(random.next_below(static_cast<uint64_t>(length - 1)));
  drawn += drawn >= own;
  SampleId other;
  fill_part(id.epoch, num_shards, shard, ranges, drawn, {&other, 1});
  return {id.epoch, id.position, other.index};
}

int64_t Sampler::epoch_begin(int64_t epoch) const {
  if (epoch < base_epoch_) return 0;
  return start_length_ + stage_begin(epoch - base_epoch_);
}

ReaderMeta Sampler::meta() const {
  const SamplerOptions& o = options_;
  const int64_t padded = o.pad_last_batch ? o.num_shards * ceil_div(o.num_samples, o.num_shards) : o.num_samples;
  return {o.num_samples, padded, o.num_shards, o.shard_id, o.pad_last_batch, sticks()};
}

Remainder Sampler::remaining(int64_t n) const {
  if (n < start_length_ || (start_ && n == start_length_)) {
    Remainder rest = *start_;
    rest.ranges = cut(rest.ranges, n, rest.size());
    rest.longest = rest.size();
    return rest;
  }
  // The epoch of the sample delivered last: where it was complete, nothing of it remains.
  const int64_t delivered = n - start_length_;
  Place place = place_of(std::max<int64_t>(delivered - 1, 0));
  if (delivered > 0) ++place.offset;
  const PositionRange whole = shard_range(place.shard, options_.num_shards);
  Remainder rest = {base_epoch_ + place.stage, options_.num_shards, {}, 0};
  rest.ranges = cut({&whole, 1}, place.offset, whole.end - whole.begin);
  rest.longest = rest.size();
  return rest;
}

Remainder reshard(std::span<const Remainder> ranks, int num_shards, int shard_id) {
  check(!ranks.empty(), "reshard: expected the state of every rank, got none");
  Remainder all = {ranks[0].epoch, ranks[0].num_shards, {}, 0};
  for (const Remainder& rank : ranks) {
    check(rank.epoch == all.epoch && rank.num_shards == all.num_shards,
          "reshard: the ranks are in different epochs ({} and {}), so that the number of shards cannot change here; "
          "save the state at the end of an epoch, or use pad_last_batch=True",
          all.epoch, rank.epoch);
    all.ranges.insert(all.ranges.end(), rank.ranges.begin(), rank.ranges.end());
  }
  const int64_t size = all.size();
  all.ranges = cut(all.ranges, shard_id * size / num_shards, (shard_id + int64_t{1}) * size / num_shards);
  all.longest = ceil_div(size, num_shards);
  return all;
}

}  // namespace headrace
