// Threads: names, cores, and how many of them this process may use.
#pragma once

#include <string>
#include <vector>

namespace headrace {

// Names the calling thread, as `top -H` and debuggers show it (at most 15 characters).
void name_thread(const std::string& name);

// Cores that this process may run on, by its affinity mask.
std::vector<int> allowed_cores();

// Cores that this process can keep busy: its affinity mask, cut to the cgroup's CPU quota (v2 and v1). At least 1.
int usable_cores();

// Pins the calling thread to a core; false if the system refuses.
bool pin_thread(int core);

}  // namespace headrace
