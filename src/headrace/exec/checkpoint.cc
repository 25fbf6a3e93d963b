// Checkpoint: headrace-checkpoint, version 1.
#include "exec/checkpoint.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kVersion = 1;

Json remainder_json(const Remainder& rest) {
  Json ranges = Json::array();
  for (const PositionRange& range : rest.ranges) ranges.push_back({range.begin, range.end});
  return {{"epoch", rest.epoch}, {"num_shards", rest.num_shards}, {"ranges", ranges}, {"longest", rest.longest}};
}

Remainder remainder_from(const Json& json, int64_t num_samples) {
  Remainder rest = {json.at("epoch").get<int64_t>(), json.at("num_shards").get<int>(), {}, 0};
  for (const Json& range : json.at("ranges")) {
    rest.ranges.push_back({range.at(0).get<int64_t>(), range.at(1).get<int64_t>()});
    const PositionRange& last = rest.ranges.back();
    check(last.begin >= 0 && last.begin < last.end && last.end <= num_samples, "checkpoint: damaged: positions {}",
          range.dump());
  }
  rest.longest = json.at("longest").get<int64_t>();
  check(rest.epoch >= 0 && rest.num_shards >= 1 && rest.num_shards <= num_samples && rest.longest >= rest.size() &&
            rest.longest <= num_samples,
        "checkpoint: damaged: {}", json.dump());
  return rest;
}

Json reader_json(const PlanReader& reader, int64_t samples) {
  const SamplerOptions& options = reader.sampler->options();
  const SampleId next = reader.sampler->at(samples);
  Json json = {{"name", reader.name},
               {"num_samples", options.num_samples},
               {"num_shards", options.num_shards},
               {"shard_id", options.shard_id},
               {"stick_to_shard", options.stick_to_shard},
               {"pad_last_batch", options.pad_last_batch},
               {"random_shuffle", options.random_shuffle},
               {"shuffle_after_epoch", options.shuffle_after_epoch},
               {"global_shuffle", options.global_shuffle},
               {"epoch", next.epoch},
               {"position", next.position},
               {"remaining", remainder_json(reader.sampler->remaining(samples))}};
  if (reader.sampler->start()) json["start"] = remainder_json(*reader.sampler->start());
  return json;
}

// The entries of all pipelines of one checkpoint, or of an array of them.
std::vector<Json> parse(std::string_view text) {
  try {
    Json json = Json::parse(text);
    if (!json.is_array()) json = Json::array({std::move(json)});
    std::vector<Json> entries;
    for (const Json& document : json) {
      check(document.is_object() && document.value("format", "") == "headrace-checkpoint",
            "checkpoint: this is no checkpoint of headrace");
      check(document.value("version", 0) == kVersion, "checkpoint: version {} is unknown, this headrace reads {}",
            document.value("version", 0), kVersion);
      for (const Json& entry : document.at("pipelines")) entries.push_back(entry);
    }
    check(!entries.empty(), "checkpoint: damaged: no pipelines");
    return entries;
  } catch (const Json::exception& error) {
    fail(ErrorKind::kRuntime, "checkpoint: damaged: {}", error.what());
  }
}

void check_same(const Json& saved, const Json& now, const char* field, const std::string& where) {
  check(saved.at(field) == now.at(field), "checkpoint: {}: {} was {}, now it is {}", where, field,
        saved.at(field).dump(), now.at(field).dump());
}

struct Shards {
  int64_t num_shards = 1;
  int64_t shard_id = 0;
};

int64_t int_of(const Node& node, std::string_view name, int64_t otherwise) {
  const auto it = node.args.find(name);
  return it == node.args.end() ? otherwise : std::get<int64_t>(it->second);
}

// The shards of a graph's readers, by instance name.
std::map<std::string, Shards> shards_of(const Graph& graph, const Registry& registry) {
  std::map<std::string, Shards> shards;
  for (const Node& node : graph.nodes()) {
    if (!registry.find(node.op)->is_reader()) continue;
    shards[node.name] = {int_of(node, "num_shards", 1), int_of(node, "shard_id", 0)};
  }
  return shards;
}

const Json* find_reader(const Json& entry, const std::string& name) {
  for (const Json& reader : entry.at("readers")) {
    if (reader.at("name") == name) return &reader;
  }
  return nullptr;
}

bool has_shards(const Json& entry, const std::map<std::string, Shards>& shards) {
  return std::all_of(shards.begin(), shards.end(), [&](const auto& wanted) {
    const Json* reader = find_reader(entry, wanted.first);
    return reader && reader->at("num_shards") == wanted.second.num_shards &&
           reader->at("shard_id") == wanted.second.shard_id;
  });
}

PlanStart exactly_at(const Json& entry) {
  PlanStart start = {{entry.at("iterations").get<int64_t>(), entry.at("samples").get<int64_t>()}, {}};
  check(start.progress.samples >= 0 && start.progress.iterations >= 0, "checkpoint: damaged: negative counts");
  for (const Json& reader : entry.at("readers")) {
    if (!reader.contains("start")) continue;
    start.readers[reader.at("name")] = remainder_from(reader.at("start"), reader.at("num_samples").get<int64_t>());
  }
  return start;
}

// What the reader has left in all pipelines, in the order of their shards.
std::vector<Remainder> remainders_of(const std::vector<Json>& entries, const std::string& name) {
  std::map<int64_t, Remainder> by_shard;
  int64_t num_shards = 0;
  for (const Json& entry : entries) {
    const Json* reader = find_reader(entry, name);
    check(reader, "checkpoint: it knows no reader \"{}\"", name);
    check(entry.at("seeds") == entries[0].at("seeds"),
          "checkpoint: reader \"{}\": num_shards: only pipelines of one seed can be cut anew for other shards", name);
    num_shards = reader->at("num_shards").get<int64_t>();
    by_shard[reader->at("shard_id").get<int64_t>()] =
        remainder_from(reader->at("remaining"), reader->at("num_samples").get<int64_t>());
  }
  check(static_cast<int64_t>(by_shard.size()) == num_shards,
        "checkpoint: reader \"{}\": num_shards: going on with other shards needs the states of all {} shards, got {}; "
        "give the checkpoints of all processes",
        name, num_shards, by_shard.size());
  std::vector<Remainder> remainders;
  remainders.reserve(by_shard.size());
  for (auto& [shard, rest] : by_shard) remainders.push_back(std::move(rest));
  return remainders;
}

PlanStart cut_anew(const std::vector<Json>& entries, const std::map<std::string, Shards>& shards) {
  PlanStart start;
  for (const auto& [name, wanted] : shards) {
    start.readers[name] =
        reshard(remainders_of(entries, name), static_cast<int>(wanted.num_shards), static_cast<int>(wanted.shard_id));
  }
  return start;
}

// Without readers the pipelines are told apart by their order only.
PlanStart find_start(const std::vector<Json>& entries, size_t plan, size_t num_plans,
                     const std::map<std::string, Shards>& shards) {
  if (shards.empty()) {
    check(entries.size() == num_plans, "checkpoint: pipelines: it was taken from {}, now there are {}", entries.size(),
          num_plans);
    return exactly_at(entries[plan]);
  }
  const auto has_its_shards = [&](const Json& entry) { return has_shards(entry, shards); };
  if (entries.size() == num_plans && has_its_shards(entries[plan])) return exactly_at(entries[plan]);
  const auto same = std::find_if(entries.begin(), entries.end(), has_its_shards);
  return same != entries.end() ? exactly_at(*same) : cut_anew(entries, shards);
}

}  // namespace

std::string write_checkpoint(const std::vector<std::unique_ptr<Plan>>& plans,
                             const std::vector<PlanProgress>& progress) {
  Json json = {{"format", "headrace-checkpoint"}, {"version", kVersion}};
  json["pipelines"] = Json::array();
  for (size_t p = 0; p < plans.size(); ++p) {
    Json seeds = Json::array();
    const Graph& graph = plans[p]->merged_graph();
    for (const Node& node : graph.nodes()) seeds.push_back(node.seed);
    Json readers = Json::array();
    for (const PlanReader& reader : plans[p]->readers()) readers.push_back(reader_json(reader, progress[p].samples));
    json["pipelines"].push_back({{"graph", graph.hash()},
                                 {"iterations", progress[p].iterations},
                                 {"samples", progress[p].samples},
                                 {"readers", readers},
                                 {"seeds", seeds}});
  }
  return json.dump();
}

std::vector<PlanStart> read_checkpoint(std::string_view checkpoint, std::vector<Graph>& graphs,
                                       const Registry& registry) {
  const std::vector<Json> entries = parse(checkpoint);
  std::vector<PlanStart> starts;
  try {
    for (const Json& entry : entries) {
      check(entry.at("iterations") == entries[0].at("iterations"),
            "checkpoint: those of one list must have been taken at the same step, got one after {} batches and one "
            "after {}",
            entries[0].at("iterations").dump(), entry.at("iterations").dump());
    }
    for (size_t p = 0; p < graphs.size(); ++p) {
      graphs[p] = graphs[p].simplified(registry);
      const std::string hash = graphs[p].hash();
      const Json& entry = entries[std::min(p, entries.size() - 1)];
      check(
          entry.at("graph") == hash,
          "checkpoint: graph: it was taken from another graph (hash {}, now {}): operators or their arguments changed",
          entry.at("graph").get<std::string>(), hash);
      graphs[p].set_seeds(entry.at("seeds").get<std::vector<uint64_t>>());
      starts.push_back(find_start(entries, p, graphs.size(), shards_of(graphs[p], registry)));
    }
  } catch (const Json::exception& error) {
    fail(ErrorKind::kRuntime, "checkpoint: damaged: {}", error.what());
  }
  return starts;
}

void check_against_checkpoint(std::string_view checkpoint, const std::vector<std::unique_ptr<Plan>>& plans,
                              const std::vector<PlanStart>& starts) {
  const std::vector<Json> entries = parse(checkpoint);
  try {
    for (size_t p = 0; p < plans.size(); ++p) {
      for (const PlanReader& plan_reader : plans[p]->readers()) {
        const Json now = reader_json(plan_reader, starts[p].progress.samples);
        const std::string where = fmt::format("pipeline {}, reader \"{}\"", p, plan_reader.name);
        const Json* found = find_reader(entries[std::min(p, entries.size() - 1)], plan_reader.name);
        check(found, "checkpoint: it knows no reader \"{}\"", plan_reader.name);
        for (const char* field : {"num_samples", "stick_to_shard", "pad_last_batch", "random_shuffle",
                                  "shuffle_after_epoch", "global_shuffle"}) {
          check_same(*found, now, field, where);
        }
        for (const Json& entry : entries) {
          const Json* saved = find_reader(entry, plan_reader.name);
          const bool same_shard =
              saved && saved->at("num_shards") == now.at("num_shards") && saved->at("shard_id") == now.at("shard_id");
          // Padding depends on the batch size: a reader that would stand elsewhere must not go on.
          check(!same_shard || (saved->at("epoch") == now.at("epoch") && saved->at("position") == now.at("position")),
                "checkpoint: {}: batch_size: with pad_last_batch it must be the one that the checkpoint was taken with",
                where);
        }
      }
    }
  } catch (const Json::exception& error) {
    fail(ErrorKind::kRuntime, "checkpoint: damaged: {}", error.what());
  }
}

}  // namespace headrace
