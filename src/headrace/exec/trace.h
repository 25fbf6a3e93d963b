// Trace: a timeline of what ran when, in the format that Perfetto and chrome://tracing read.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace headrace {

using Clock = std::chrono::steady_clock;

class Trace {
 public:
  bool on() const { return on_.load(std::memory_order_relaxed); }
  void set_on(bool on) { on_ = on; }

  // Something took from `begin` until now on the lane ("worker 0", "consumer"). Does nothing while off.
  void record(const std::string& lane, std::string name, Clock::time_point begin, int64_t iteration);

  // The trace event format, JSON: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
  std::string json() const;

 private:
  struct Event {
    std::string lane;
    std::string name;
    Clock::time_point begin;
    Clock::time_point end;
    int64_t iteration;
  };

  std::atomic<bool> on_{false};
  mutable std::mutex mutex_;
  std::vector<Event> events_;
};

}  // namespace headrace
