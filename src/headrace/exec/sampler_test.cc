// Sampler: each epoch has every record once over all shards; streams against a plain loop and DALI's recorded orders.
#include "exec/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"

namespace headrace {
namespace {

std::vector<SampleId> take(const Sampler& sampler, int64_t first, int64_t count) {
  std::vector<SampleId> ids(count);
  sampler.fill(first, ids);
  return ids;
}

std::vector<int64_t> indices(const std::vector<SampleId>& ids) {
  std::vector<int64_t> result;
  for (const SampleId& id : ids) result.push_back(id.index);
  return result;
}

// Orders of fn.readers.file that DALI 2.4.0 gave (one digit per label).
struct GoldenStream {
  int64_t samples;
  int batch;
  int shards, shard;
  bool stick, pad;
  std::string labels;
  int64_t epoch_size_padded;
};

const GoldenStream kGolden[] = {
    {10, 4, 1, 0, false, false, "0123456789012345678901234567", 10},
    {10, 4, 1, 0, false, true, "0123456789990123456789990123", 10},
    {10, 4, 3, 0, false, false, "0123456789012345678901234567", 10},
    {10, 4, 3, 0, true, false, "0120120120120120120120120120", 10},
    {10, 4, 3, 0, false, true, "0122345567890122345567890122", 12},
    {10, 4, 3, 0, true, true, "0122012201220122012201220122", 12},
    {10, 4, 3, 1, false, false, "3456789012345678901234567890", 10},
    {10, 4, 3, 1, true, false, "3453453453453453453453453453", 10},
    {10, 4, 3, 1, false, true, "3455678901223455678901223455", 12},
    {10, 4, 3, 1, true, true, "3455345534553455345534553455", 12},
    {10, 4, 3, 2, false, false, "6789012345678901234567890123", 10},
    {10, 4, 3, 2, true, false, "6789678967896789678967896789", 10},
    {10, 4, 3, 2, false, true, "6789012234556789012234556789", 12},
    {10, 4, 3, 2, true, true, "6789678967896789678967896789", 12},
    {3, 8, 1, 0, false, false, "012012012012012012012012", 3},
    {3, 8, 1, 0, false, true, "012222220122222201222222", 3},
};

TEST(Sampler, GivesTheOrdersOfDali) {
  for (const GoldenStream& golden : kGolden) {
    const Sampler sampler({.num_samples = golden.samples,
                           .num_shards = golden.shards,
                           .shard_id = golden.shard,
                           .stick_to_shard = golden.stick,
                           .pad_last_batch = golden.pad,
                           .batch_size = golden.batch},
                          "readers.file");
    std::string labels;
    for (const int64_t index : indices(take(sampler, 0, static_cast<int64_t>(golden.labels.size())))) {
      labels += static_cast<char>('0' + index);
    }
    EXPECT_EQ(labels, golden.labels) << "shard " << golden.shard << " of " << golden.shards;
    const ReaderMeta meta = sampler.meta();
    EXPECT_EQ(meta.epoch_size, golden.samples);
    EXPECT_EQ(meta.epoch_size_padded, golden.epoch_size_padded);
    EXPECT_EQ(meta.stick_to_shard, golden.stick);
  }
}

// Every combination of sizes, shards, batches and kinds that the properties below are checked over.
std::vector<SamplerOptions> all_options() {
  std::vector<SamplerOptions> all;
  for (const int64_t samples : {1, 2, 5, 7, 12, 100}) {
    for (const int shards : {1, 2, 3, 5}) {
      if (shards > samples) continue;
      for (const int batch : {1, 3, 8}) {
        for (int flags = 0; flags < 4; ++flags) {
          for (int kind = 0; kind < 5; ++kind) {
            SamplerOptions options = {.num_samples = samples, .num_shards = shards, .seed = 11, .batch_size = batch};
            options.stick_to_shard = (flags & 1) != 0;
            options.pad_last_batch = (flags & 2) != 0;
            options.random_shuffle = kind == 1 || kind == 2;
            options.initial_fill = kind == 2 ? 1 : 1024;
            options.shuffle_after_epoch = kind == 3;
            options.global_shuffle = kind == 4;
            if (options.shuffle_after_epoch && options.stick_to_shard) continue;
            all.push_back(options);
          }
        }
      }
    }
  }
  return all;
}

std::string describe(const SamplerOptions& o) {
  return fmt::format("N {} S {} B {} stick {} pad {} random {} fill {} after {} global {}", o.num_samples, o.num_shards,
                     o.batch_size, o.stick_to_shard, o.pad_last_batch, o.random_shuffle, o.initial_fill,
                     o.shuffle_after_epoch, o.global_shuffle);
}

TEST(Sampler, EachEpochHasEveryRecordOnceOverAllShards) {
  for (SamplerOptions options : all_options()) {
    SCOPED_TRACE(describe(options));
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<int64_t> records;
      std::set<int64_t> positions;
      size_t total = 0;
      for (options.shard_id = 0; options.shard_id < options.num_shards; ++options.shard_id) {
        const Sampler sampler(options, "readers.file");
        const int64_t begin = sampler.epoch_begin(epoch);
        const int64_t end = sampler.epoch_begin(epoch + 1);
        if (options.pad_last_batch) {
          ASSERT_EQ((end - begin) % options.batch_size, 0);
        }
        for (const SampleId& id : take(sampler, begin, end - begin)) {
          ASSERT_EQ(id.epoch, epoch);
          positions.insert(id.position);
          ++total;
          if (!sampler.is_padding(id)) records.push_back(id.index);
        }
      }
      ASSERT_EQ(positions.size(), total);
      std::sort(records.begin(), records.end());
      std::vector<int64_t> expected(options.num_samples);
      for (int64_t i = 0; i < options.num_samples; ++i) expected[i] = i;
      ASSERT_EQ(records, expected);
    }
  }
}

// The stream of an unshuffled reader, written as DALI's users know it: a loop over shards.
std::vector<int64_t> plain_loop(const SamplerOptions& o, int64_t count) {
  const int64_t n = o.num_samples, s = o.num_shards, b = o.batch_size;
  const int64_t padded = ((n + s - 1) / s + b - 1) / b * b;
  std::vector<int64_t> stream;
  for (int64_t shard = o.shard_id; static_cast<int64_t>(stream.size()) < count;
       shard = o.stick_to_shard ? shard : (shard + 1) % s) {
    int64_t given = 0;
    for (int64_t i = shard * n / s; i < (shard + 1) * n / s; ++i, ++given) stream.push_back(i);
    while (o.pad_last_batch && given++ < padded) stream.push_back(stream.back());
  }
  stream.resize(count);
  return stream;
}

TEST(Sampler, UnshuffledStreamsEqualAPlainLoop) {
  for (SamplerOptions options : all_options()) {
    if (options.random_shuffle || options.shuffle_after_epoch || options.global_shuffle) continue;
    SCOPED_TRACE(describe(options));
    for (options.shard_id = 0; options.shard_id < options.num_shards; ++options.shard_id) {
      ASSERT_EQ(indices(take(Sampler(options, "readers.file"), 0, 250)), plain_loop(options, 250));
    }
  }
}

TEST(Sampler, AnySampleCanBeAskedForByItself) {
  for (SamplerOptions options : all_options()) {
    SCOPED_TRACE(describe(options));
    options.shard_id = options.num_shards - 1;
    const Sampler sampler(options, "readers.file");
    const std::vector<SampleId> stream = take(sampler, 0, 60);
    for (int64_t n = 59; n >= 0; --n) ASSERT_EQ(sampler.at(n), stream[n]) << n;
    for (const int64_t first : {1, 13, 37}) {
      const std::vector<SampleId> part = take(sampler, first, 23);
      ASSERT_TRUE(std::equal(part.begin(), part.end(), stream.begin() + first)) << first;
    }
  }
}

// What a sample is must not depend on how many are asked for at a time: padding moves, positions stay.
TEST(Sampler, PositionsOfRepeatsDoNotDependOnTheBatchSize) {
  SamplerOptions options = {.num_samples = 10, .num_shards = 3, .shard_id = 1, .pad_last_batch = true, .batch_size = 4};
  const std::vector<SampleId> small = take(Sampler(options, "readers.file"), 0, 4);
  options.batch_size = 8;
  const std::vector<SampleId> large = take(Sampler(options, "readers.file"), 0, 8);
  EXPECT_TRUE(std::equal(small.begin(), small.end(), large.begin()));
  EXPECT_GE(large.back().position, 10);
}

TEST(Sampler, ShufflesByTheSeedsThatDaliNames) {
  const auto order = [](SamplerOptions options) {
    options.num_samples = 50;
    return indices(take(Sampler(options, "readers.file"), 0, 100));
  };
  EXPECT_NE(order({.random_shuffle = true, .seed = 1}), order({.random_shuffle = true, .seed = 2}));
  EXPECT_EQ(order({.random_shuffle = true, .initial_fill = 1, .seed = 1}),
            order({.random_shuffle = true, .initial_fill = 1, .seed = 2}));
  EXPECT_EQ(order({.shuffle_after_epoch = true, .seed = 1}), order({.shuffle_after_epoch = true, .seed = 2}));
  EXPECT_NE(order({.shuffle_after_epoch = true, .shuffle_after_epoch_seed = 1}),
            order({.shuffle_after_epoch = true, .shuffle_after_epoch_seed = 2}));
  EXPECT_NE(order({.global_shuffle = true, .seed = 1}), order({.global_shuffle = true, .seed = 2}));
  for (const SamplerOptions& options :
       {SamplerOptions{.random_shuffle = true}, SamplerOptions{.shuffle_after_epoch = true},
        SamplerOptions{.global_shuffle = true}}) {
    const std::vector<int64_t> both = order(options);
    EXPECT_FALSE(std::equal(both.begin(), both.begin() + 50, both.begin() + 50));  // a new order in each epoch
    EXPECT_FALSE(std::is_sorted(both.begin(), both.begin() + 50));                 // the first included
  }
}

TEST(Sampler, SubstitutesAreOtherRecordsOfTheSameShard) {
  for (SamplerOptions options : all_options()) {
    SCOPED_TRACE(describe(options));
    const Sampler sampler(options, "readers.file");
    for (int64_t epoch = 0; epoch < 2; ++epoch) {
      const int64_t begin = sampler.epoch_begin(epoch);
      const std::vector<SampleId> stage = take(sampler, begin, sampler.epoch_begin(epoch + 1) - begin);
      const std::vector<int64_t> records = indices(stage);
      for (const SampleId& id : stage) {
        const SampleId other = sampler.substitute(id, 0);
        ASSERT_EQ(other.epoch, id.epoch);
        ASSERT_EQ(other.position, id.position);
        ASSERT_THAT(records, testing::Contains(other.index));
        const bool alone = std::set<int64_t>(records.begin(), records.end()).size() == 1;
        ASSERT_EQ(other.index == id.index, alone);
      }
    }
  }
}

TEST(Sampler, AttemptsReachAllOtherRecordsEquallyOften) {
  const Sampler sampler({.num_samples = 10, .num_shards = 2}, "readers.file");
  std::vector<int> counts(10);
  for (int attempt = 0; attempt < 4000; ++attempt) ++counts[sampler.substitute(sampler.at(2), attempt).index];
  for (int record = 0; record < 10; ++record) {
    EXPECT_NEAR(counts[record], record < 5 && record != 2 ? 1000 : 0, 150) << record;
  }
}

// n samples with S ranks, then the rest of the epoch with S' ranks: together each record once; then whole epochs.
TEST(Sampler, ResumesWithAnotherNumberOfShards) {
  for (SamplerOptions options : all_options()) {
    if (options.num_samples < 12 || options.num_shards == 5) continue;
    SCOPED_TRACE(describe(options));
    const int64_t delivered = options.pad_last_batch ? options.batch_size : 3;
    for (const int new_shards : {1, 2, 3}) {
      std::vector<int64_t> records;
      std::vector<Remainder> ranks;
      SamplerOptions old = options;
      for (old.shard_id = 0; old.shard_id < old.num_shards; ++old.shard_id) {
        const Sampler sampler(old, "readers.file");
        for (const SampleId& id : take(sampler, 0, delivered)) {
          if (!sampler.is_padding(id)) records.push_back(id.index);
        }
        ranks.push_back(sampler.remaining(delivered));
      }
      SamplerOptions renewed = options;
      renewed.num_shards = new_shards;
      std::vector<int64_t> next_epoch;
      for (renewed.shard_id = 0; renewed.shard_id < new_shards; ++renewed.shard_id) {
        const Sampler sampler(renewed, "readers.file", reshard(ranks, new_shards, renewed.shard_id));
        for (const SampleId& id : take(sampler, 0, sampler.epoch_begin(2))) {
          if (!sampler.is_padding(id)) (id.epoch == 0 ? records : next_epoch).push_back(id.index);
        }
      }
      std::sort(records.begin(), records.end());
      std::sort(next_epoch.begin(), next_epoch.end());
      std::vector<int64_t> expected(options.num_samples);
      for (int64_t i = 0; i < options.num_samples; ++i) expected[i] = i;
      ASSERT_EQ(records, expected) << new_shards;
      ASSERT_EQ(next_epoch, expected) << new_shards;
    }
  }
}

// A stream that goes on from a remainder has the samples of the uninterrupted one, whatever n it was cut at.
TEST(Sampler, ARemainderContinuesTheSameStream) {
  for (SamplerOptions options : all_options()) {
    if (options.num_shards > 1 || options.pad_last_batch) continue;
    SCOPED_TRACE(describe(options));
    const Sampler whole(options, "readers.file");
    const std::vector<SampleId> stream = take(whole, 0, 150);
    for (int64_t n = 0; n < 30; ++n) {
      const Remainder rest = whole.remaining(n);
      const Sampler resumed(options, "readers.file", rest);
      const std::vector<SampleId> tail = take(resumed, 0, 50);
      ASSERT_TRUE(std::equal(tail.begin(), tail.end(), stream.begin() + n)) << n;
      ASSERT_EQ(resumed.remaining(rest.size()).size(), 0);
    }
  }
}

// The rest of an epoch lies in several ranges after a change of shards. Pieces that end inside one of them or at its
// end, or that span several, are those of the stream, and nothing beyond the samples asked for is touched
// (AddressSanitizer).
TEST(Sampler, ARemainderOfSeveralRangesIsReadInAnyPieces) {
  for (SamplerOptions options : all_options()) {
    if (options.num_samples < 12 || options.num_shards > 1) continue;
    SCOPED_TRACE(describe(options));
    const Remainder rest = {0, 4, {{0, 2}, {3, 4}, {6, 8}, {9, 12}}, 8};
    const Sampler sampler(options, "readers.file", rest);
    for (int64_t first = 0; first < 12; ++first) {
      for (int64_t count = 0; first + count <= 12; ++count) {
        const std::vector<SampleId> piece = take(sampler, first, count);
        for (int64_t i = 0; i < count; ++i) ASSERT_EQ(piece[i], sampler.at(first + i)) << first << " " << i;
      }
    }
    const int64_t positions[] = {0, 1, 3, 6, 7, 9, 10, 11};
    for (int64_t n = 0; n < 8; ++n) ASSERT_EQ(sampler.at(n).position, positions[n]);
  }
}

TEST(Sampler, RanksInDifferentEpochsCannotBeCutAnew) {
  SamplerOptions options = {.num_samples = 7, .num_shards = 2};
  std::vector<Remainder> ranks;
  for (options.shard_id = 0; options.shard_id < 2; ++options.shard_id) {
    ranks.push_back(Sampler(options, "readers.file").remaining(4));  // shard 0 has 3 records, shard 1 has 4
  }
  EXPECT_THROW(reshard(ranks, 3, 0), Error);
}

TEST(Sampler, RefusesWhatCannotBe) {
  const auto message = [](const SamplerOptions& options) -> std::string {
    try {
      const Sampler sampler(options, "readers.file");
    } catch (const Error& error) {
      return error.message();
    }
    return "no error";
  };
  using testing::AllOf;
  using testing::HasSubstr;
  EXPECT_THAT(message({.num_samples = 0}), HasSubstr("at least one sample"));
  EXPECT_THAT(message({.num_samples = 7, .num_shards = 8}),
              AllOf(HasSubstr("[readers.file] num_shards"), HasSubstr("7"), HasSubstr("8")));
  EXPECT_THAT(message({.num_samples = 7, .num_shards = 2, .shard_id = 2}), HasSubstr("[readers.file] shard_id"));
  EXPECT_THAT(message({.num_samples = 7, .shard_id = -1}), HasSubstr("shard_id"));
  EXPECT_THAT(message({.num_samples = 7, .random_shuffle = true, .initial_fill = 0}), HasSubstr("initial_fill"));
  EXPECT_THAT(message({.num_samples = 7, .random_shuffle = true, .shuffle_after_epoch = true}),
              HasSubstr("shuffle_after_epoch"));
  EXPECT_THAT(message({.num_samples = 7, .stick_to_shard = true, .shuffle_after_epoch = true}),
              HasSubstr("stick_to_shard"));
  EXPECT_THAT(message({.num_samples = 7, .random_shuffle = true, .global_shuffle = true}), HasSubstr("global_shuffle"));
}

}  // namespace
}  // namespace headrace
