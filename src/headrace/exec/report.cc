// Report: collecting the numbers, and the verdict.
#include "exec/report.h"

#include <nlohmann/json.hpp>

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;

// One line: who is waited for. A consumer that waits a tenth of the time is waiting for the pipeline.
std::string verdict(const Json& nodes, int64_t delivered, double elapsed, double waited) {
  if (nodes.empty() || delivered == 0) return "nothing has run yet";
  if (waited < 0.1 * elapsed) return "the consumer bounds the throughput: batches wait for it";
  double total = 0;
  const Json* slowest = &nodes[0];
  for (const Json& node : nodes) {
    total += node["seconds"].get<double>();
    if (node["seconds"] > (*slowest)["seconds"]) slowest = &node;
  }
  const double share = total > 0 ? 100 * (*slowest)["seconds"].get<double>() / total : 0;
  return fmt::format("the pipeline bounds the throughput: {} takes {:.0f} % of the workers' time",
                     (*slowest)["name"].get<std::string>(), share);
}

Json node_entries(const ReportInput& input) {
  Json nodes = Json::array();
  for (size_t p = 0; p < input.plans.size(); ++p) {
    const auto totals = input.scheduler.node_totals(static_cast<int>(p));
    for (size_t i = 0; i < totals.size(); ++i) {
      const PlanNode& node = input.plans[p]->nodes()[i];
      if (node.kind == NodeKind::kFed) continue;
      nodes.push_back({{"pipeline", p},
                       {"name", node.node->name},
                       {"op", node.node->op},
                       {"samples", totals[i].samples},
                       {"seconds", totals[i].seconds},
                       {"bytes", totals[i].bytes}});
      for (const auto& [name, count] : node.op->counters()) nodes.back()["counters"][std::string(name)] = count;
    }
  }
  return nodes;
}

}  // namespace

std::string statistics_json(const ReportInput& input) {
  const double elapsed = std::chrono::duration<double>(Clock::now() - input.times.since).count();
  const double waited = std::chrono::duration<double>(input.times.waited).count();
  Json json;
  json["nodes"] = node_entries(input);
  json["iterations"] = {
      {"started", input.started}, {"delivered", input.delivered}, {"waiting", input.started - input.delivered}};
  json["seconds"] = {
      {"elapsed", elapsed}, {"consumer_waited", waited}, {"workers_idle", input.scheduler.worker_idle_seconds()}};
  json["threads"] = input.num_threads;
  json["memory"] = {{"limit", input.pool.limit()},
                    {"batches", input.pool.bytes_in_use(MemoryUse::kSlots)},
                    {"scratch", input.pool.bytes_in_use(MemoryUse::kArenas)},
                    {"caches", input.pool.bytes_in_use(MemoryUse::kCaches)},
                    {"idle", input.pool.bytes_idle()},
                    {"system_allocations", input.pool.system_allocations()},
                    {"batches_held", input.pool.held_batches()}};
  json["bottleneck"] = verdict(json["nodes"], input.delivered, elapsed, waited);
  return json.dump();
}

}  // namespace headrace
