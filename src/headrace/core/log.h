// Log: messages for the operator of a program, handed to whoever installed a sink. The engine itself prints nothing.
#pragma once

#include <string_view>

namespace headrace {

enum class LogLevel { kInfo, kWarning };

using LogSink = void (*)(LogLevel level, std::string_view message);

// The sink gets every message, on the thread that logs. Null (the default) drops them.
void set_log_sink(LogSink sink);

void log(LogLevel level, std::string_view message);

}  // namespace headrace
