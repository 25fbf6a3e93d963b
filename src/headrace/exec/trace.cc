// Trace: recording and the JSON form.
#include "exec/trace.h"

#include <map>
#include <nlohmann/json.hpp>

namespace headrace {
namespace {

double microseconds(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

}  // namespace

void Trace::record(const std::string& lane, std::string name, Clock::time_point begin, int64_t iteration) {
  if (!on()) return;
  const auto end = Clock::now();
  std::lock_guard lock(mutex_);
  events_.push_back({lane, std::move(name), begin, end, iteration});
}

std::string Trace::json() const {
  std::lock_guard lock(mutex_);
  std::map<std::string, int> lanes;
  nlohmann::json events = nlohmann::json::array();
  for (const Event& event : events_) {
    const auto [lane, is_new] = lanes.emplace(event.lane, static_cast<int>(lanes.size()));
    if (is_new) {
      events.push_back(
          {{"ph", "M"}, {"pid", 0}, {"tid", lane->second}, {"name", "thread_name"}, {"args", {{"name", event.lane}}}});
    }
    events.push_back({{"ph", "X"},
                      {"pid", 0},
                      {"tid", lane->second},
                      {"name", event.name},
                      {"ts", microseconds(event.begin.time_since_epoch())},
                      {"dur", microseconds(event.end - event.begin)},
                      {"args", {{"iteration", event.iteration}}}});
  }
  return nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump();
}

}  // namespace headrace
