// Checkpoint: headrace-checkpoint, version 1.
#include "exec/checkpoint.h"

#include <nlohmann/json.hpp>

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kVersion = 1;

Json reader_json(const PlanReader& reader, int64_t samples) {
  const SamplerOptions& options = reader.sampler->options();
  const SampleId next = reader.sampler->at(samples);
  return {{"name", reader.name},
          {"num_samples", options.num_samples},
          {"num_shards", options.num_shards},
          {"shard_id", options.shard_id},
          {"stick_to_shard", options.stick_to_shard},
          {"pad_last_batch", options.pad_last_batch},
          {"random_shuffle", options.random_shuffle},
          {"shuffle_after_epoch", options.shuffle_after_epoch},
          {"global_shuffle", options.global_shuffle},
          {"epoch", next.epoch},
          {"position", next.position}};
}

Json parse(std::string_view text) {
  try {
    Json json = Json::parse(text);
    check(json.is_object() && json.value("format", "") == "headrace-checkpoint",
          "checkpoint: this is no checkpoint of headrace");
    check(json.value("version", 0) == kVersion, "checkpoint: version {} is unknown, this headrace reads {}",
          json.value("version", 0), kVersion);
    return json;
  } catch (const Json::exception& error) {
    fail(ErrorKind::kRuntime, "checkpoint: damaged: {}", error.what());
  }
}

const Json& plan_entries(const Json& json, size_t count) {
  const Json& entries = json.at("pipelines");
  check(entries.size() == count, "checkpoint: pipelines: it was taken from {}, now there are {}", entries.size(),
        count);
  return entries;
}

void check_same(const Json& saved, const Json& now, const char* field, const std::string& where) {
  check(saved.at(field) == now.at(field), "checkpoint: {}: {} was {}, now it is {}", where, field,
        saved.at(field).dump(), now.at(field).dump());
}

}  // namespace

std::string write_checkpoint(const std::vector<std::unique_ptr<Plan>>& plans,
                             const std::vector<PlanProgress>& progress) {
  Json json = {{"format", "headrace-checkpoint"}, {"version", kVersion}};
  json["pipelines"] = Json::array();
  for (size_t p = 0; p < plans.size(); ++p) {
    Json seeds = Json::array();
    for (const Node& node : plans[p]->graph().nodes()) seeds.push_back(node.seed);
    Json readers = Json::array();
    for (const PlanReader& reader : plans[p]->readers()) readers.push_back(reader_json(reader, progress[p].samples));
    json["pipelines"].push_back({{"graph", plans[p]->graph().hash()},
                                 {"iterations", progress[p].iterations},
                                 {"samples", progress[p].samples},
                                 {"readers", readers},
                                 {"seeds", seeds}});
  }
  return json.dump();
}

void restore_seeds(std::string_view checkpoint, std::vector<Graph>& graphs, const Registry& registry) {
  const Json json = parse(checkpoint);
  try {
    const Json& entries = plan_entries(json, graphs.size());
    for (size_t p = 0; p < graphs.size(); ++p) {
      graphs[p] = graphs[p].simplified(registry);
      const std::string hash = graphs[p].hash();
      check(
          entries[p].at("graph") == hash,
          "checkpoint: graph: it was taken from another graph (hash {}, now {}): operators or their arguments changed",
          entries[p].at("graph").get<std::string>(), hash);
      graphs[p].set_seeds(entries[p].at("seeds").get<std::vector<uint64_t>>());
    }
  } catch (const Json::exception& error) {
    fail(ErrorKind::kRuntime, "checkpoint: damaged: {}", error.what());
  }
}

std::vector<PlanProgress> read_checkpoint(std::string_view checkpoint,
                                          const std::vector<std::unique_ptr<Plan>>& plans) {
  const Json json = parse(checkpoint);
  std::vector<PlanProgress> progress;
  try {
    const Json& entries = plan_entries(json, plans.size());
    for (size_t p = 0; p < plans.size(); ++p) {
      progress.push_back({entries[p].at("iterations").get<int64_t>(), entries[p].at("samples").get<int64_t>()});
      check(progress.back().samples >= 0 && progress.back().iterations >= 0, "checkpoint: damaged: negative counts");
      const Json& readers = entries[p].at("readers");
      check(readers.size() == plans[p]->readers().size(), "checkpoint: readers: {} then, {} now", readers.size(),
            plans[p]->readers().size());
      for (size_t r = 0; r < readers.size(); ++r) {
        const Json now = reader_json(plans[p]->readers()[r], progress.back().samples);
        const std::string where = fmt::format("pipeline {}, reader \"{}\"", p, plans[p]->readers()[r].name);
        for (const char* field : {"num_samples", "num_shards", "shard_id", "stick_to_shard", "pad_last_batch",
                                  "random_shuffle", "shuffle_after_epoch", "global_shuffle"}) {
          check_same(readers[r], now, field, where);
        }
        // Padding depends on the batch size: a reader that would stand elsewhere must not go on.
        check(readers[r].at("epoch") == now.at("epoch") && readers[r].at("position") == now.at("position"),
              "checkpoint: {}: batch_size: with pad_last_batch it must be the one that the checkpoint was taken with",
              where);
      }
    }
  } catch (const Json::exception& error) {
    fail(ErrorKind::kRuntime, "checkpoint: damaged: {}", error.what());
  }
  return progress;
}

}  // namespace headrace
