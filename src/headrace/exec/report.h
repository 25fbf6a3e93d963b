// Report: the executor's statistics as JSON, with a verdict which stage bounds the throughput.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/scheduler.h"

namespace headrace {

// What the thread that takes batches spent its time on.
struct ConsumerTimes {
  Clock::time_point since = Clock::now();
  Clock::duration waited{};
};

struct ReportInput {
  const std::vector<std::unique_ptr<Plan>>& plans;
  const Scheduler& scheduler;
  const HostPool& pool;
  const ConsumerTimes& times;
  int64_t started;
  int64_t delivered;
  int num_threads;
};

std::string statistics_json(const ReportInput& input);

}  // namespace headrace
