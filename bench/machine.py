# The machine of a run, and its load by other programs.
#
# Owns: the reading of /proc and /sys. CPU use by other programs comes from the kernel's accounting
# around each run. The load average lags by minutes and contains the run itself.
#
# SPDX-License-Identifier: MIT

import os
import platform
from pathlib import Path


def read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return "unknown"


def processor_name() -> str:
    for line in read("/proc/cpuinfo").splitlines():
        if line.lower().startswith(("model name", "cpu model")):
            return line.partition(":")[2].strip()
    return platform.machine()


def processor_model() -> str:
    """Family, model and stepping: virtual machines give several generations of processors one
    name."""
    found = {}
    for line in read("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        found.setdefault(key.strip(), value.strip())
    parts = [found.get(key) for key in ("cpu family", "model", "stepping")]
    return "-".join(parts) if all(parts) else "unknown"


def memory_kib() -> int:
    for line in read("/proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1])
    return 0


def describe() -> dict:
    return {
        "processor": processor_name(),
        "processor_model": processor_model(),
        "cores": usable_cores(),
        "memory_kib": memory_kib(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
        "transparent_huge_pages": read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "overcommit_memory": read("/proc/sys/vm/overcommit_memory"),
        "max_map_count": read("/proc/sys/vm/max_map_count"),
    }


def usable_cores() -> int:
    return len(os.sched_getaffinity(0))


def load_average() -> list[float]:
    return [round(value, 2) for value in os.getloadavg()]


def busy_cpu_s() -> float | None:
    """CPU seconds that all cores together used since boot, stolen time included."""
    first = read("/proc/stat").partition("\n")[0].split()
    if len(first) < 9 or first[0] != "cpu":
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, first[1:9])
    ticks = user + nice + system + irq + softirq + steal
    return ticks / os.sysconf("SC_CLK_TCK")
