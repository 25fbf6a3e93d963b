// Threads: their names and their cores.
#pragma once

#include <string>
#include <vector>

namespace headrace {

// Names the calling thread, as `top -H` and debuggers show it (at most 15 characters).
void name_thread(const std::string& name);

// Cores that this process may run on, by its affinity mask.
std::vector<int> allowed_cores();

// Pins the calling thread to a core; false if the system refuses.
bool pin_thread(int core);

}  // namespace headrace
