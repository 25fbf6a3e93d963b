// Log: the sink.
#include "core/log.h"

#include <atomic>

namespace headrace {
namespace {

std::atomic<LogSink> sink{nullptr};

}  // namespace

void set_log_sink(LogSink new_sink) { sink = new_sink; }

void log(LogLevel level, std::string_view message) {
  if (LogSink current = sink.load()) current(level, message);
}

}  // namespace headrace
