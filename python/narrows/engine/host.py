"""What this machine is: cores, memory, names for the manifest."""

import os
import platform
from functools import cache
from pathlib import Path
from typing import Any

MEMORY_KEPT_FREE_BYTES = 512 * 1024 * 1024
"""Left to the rest of the machine when guests are counted."""


def cpus() -> list[int]:
    """Cores that this process may use."""
    return sorted(os.sched_getaffinity(0))


def memory_available_bytes() -> int:
    """What the kernel says can be had without swapping, never more than the cgroup allows."""
    available = _meminfo().get("MemAvailable", 0)
    limit = _cgroup_left()
    return available if limit is None else min(available, limit)


def _meminfo() -> dict[str, int]:
    values = {}
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, rest = line.partition(":")
        values[name] = int(rest.split()[0]) * 1024
    return values


def _cgroup_left() -> int | None:
    """Room left below the limit of a cgroup v2, None where there is none (as in most places)."""
    base = Path("/sys/fs/cgroup")
    try:
        limit = (base / "memory.max").read_text().strip()
        used = int((base / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(0, int(limit) - used)


@cache
def describe() -> dict[str, Any]:
    """For the manifest."""
    model = None
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "cpu_model": model,
        "cores": os.cpu_count(),
        "cores_usable": len(cpus()),
        "memory_bytes": _meminfo().get("MemTotal"),
        "kernel": platform.release(),
        "machine": platform.machine(),
    }
