// Threads: Linux's interfaces for names, affinity and cgroup quotas.
#include "core/thread.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace headrace {
namespace {

// The first line of a small file, or "".
std::string first_line(const char* path) {
  std::FILE* file = std::fopen(path, "re");
  if (!file) return {};
  char line[256] = {};
  const bool read = std::fgets(line, sizeof line, file) != nullptr;
  std::fclose(file);
  return read ? line : "";
}

// CPUs that the cgroup's quota allows; infinity without a quota.
double cgroup_quota() {
  double quota = 0;
  double period = 0;
  if (std::sscanf(first_line("/sys/fs/cgroup/cpu.max").c_str(), "%lf %lf", &quota, &period) == 2 && period > 0) {
    return quota / period;
  }
  const bool v1 = std::sscanf(first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").c_str(), "%lf", &quota) == 1 &&
                  std::sscanf(first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us").c_str(), "%lf", &period) == 1;
  return v1 && quota > 0 && period > 0 ? quota / period : INFINITY;
}

}  // namespace

void name_thread(const std::string& name) { pthread_setname_np(pthread_self(), name.substr(0, 15).c_str()); }

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
  }
  return cores;
}

int usable_cores() {
  const int allowed = std::max<int>(1, static_cast<int>(allowed_cores().size()));
  const double quota = cgroup_quota();
  return quota < allowed ? std::max(1, static_cast<int>(std::ceil(quota))) : allowed;
}

bool pin_thread(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

}  // namespace headrace
