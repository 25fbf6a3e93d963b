"""What of the machine this process may use: cores and memory."""

from __future__ import annotations

import math
import os


def _cgroup_quota() -> float:
    """Cores that the control group may use (version 2, then 1); infinity without a limit."""
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()
        return math.inf if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    try:
        with open("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") as file:
            quota_us = int(file.read())
        with open("/sys/fs/cgroup/cpu/cpu.cfs_period_us") as file:
            return quota_us / int(file.read()) if quota_us > 0 else math.inf
    except (OSError, ValueError):
        return math.inf


def default_num_threads() -> int:
    """Cores that this process may use: its affinity mask, limited by the control group's quota."""
    cores = len(os.sched_getaffinity(0))
    quota = _cgroup_quota()
    return max(1, cores if quota >= cores else round(quota))


def available_memory() -> int:
    """Bytes of memory that this process may use: the machine's, or its control group's limit (version 2, then 1)."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path) as file:
                return min(memory, int(file.read()))
        except (OSError, ValueError):  # no such version, or "max"
            continue
    return memory
