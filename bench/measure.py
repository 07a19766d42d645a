"""Takes the time and the memory of whole process trees, and says what repetitions show. Judges nothing.

CPU time is that of the tree: this process makes itself the reaper of orphans, so that a guest's stub
processes, which outlive their parent by an instant, are counted too.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrows.engine import layout
from narrows.engine.types import Limits, Progress, RunRequest, Slot
from narrows.engine.uml import UmlEngine
from narrows.plan.model import Plan

PR_SET_CHILD_SUBREAPER = 36
PEAK_INTERVAL_S = 0.05
NS = 1_000_000_000
LINE_LATE_NS = 1_000_000
"""A line of progress comes some 20 ns after its second: the agent looks at the clock."""


class BenchError(Exception):
    """What was to be timed did not work."""


@dataclass(frozen=True)
class Cost:
    """What one execution took."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True)
class Spread:
    """Repetitions in three numbers."""

    n: int
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        if not values:
            raise BenchError("nothing was measured")
        return cls(len(values), statistics.median(values), min(values), max(values))

    def text(self, digits: int = 2) -> str:
        return f"{self.median:.{digits}f} ({self.low:.{digits}f}–{self.high:.{digits}f}, n={self.n})"


def cost_of(work: Callable[[], object]) -> Cost:
    """Wall time and CPU time (user + system) of the processes that `work` starts, and theirs."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before, started = _children_cpu_s(), time.monotonic()
    work()
    wall_s = time.monotonic() - started
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    return Cost(wall_s, _children_cpu_s() - before)


def wall_per_virtual_s(stamps: list[tuple[int, float]], from_s: float, until_s: float) -> float | None:
    """Wall s per virtual s between the first and the last line of progress in a stretch of virtual time.

    Args:
        stamps: virtual ns and wall s of each line, in order.
        from_s, until_s: the stretch, in virtual s; a line right at its end counts.

    Returns:
        None if the lines in it are less than half a virtual second apart.
    """
    seen = [(t, wall) for t, wall in stamps if from_s * NS <= t <= until_s * NS + LINE_LATE_NS]
    if not seen or seen[-1][0] - seen[0][0] <= NS / 2:
        return None
    return (seen[-1][1] - seen[0][1]) * NS / (seen[-1][0] - seen[0][0])


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def living_cpu_s() -> float:
    """CPU time (user + system) of all processes below this one that are alive."""
    ticks = 0
    for pid in _descendants(os.getpid()):
        with contextlib.suppress(OSError):  # it has ended
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def guest(
    engine: UmlEngine,
    plan: Plan,
    cpu: int,
    look: Callable[[Path], Any] | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Any:
    """One run of the engine in a directory that is gone afterwards; what `look` says of the directory."""
    directory = Path(tempfile.mkdtemp(prefix="narrows-bench-"))
    try:
        (directory / layout.PLAN).write_text(plan.to_json())
        limits = Limits(wall_s=1800, stall_s=120)
        carried = engine.run(RunRequest(plan, directory, Slot(0, cpu), limits, progress=progress))
        if carried.error is not None:
            raise BenchError(f"{plan.experiment}: {carried.error.line()}\n{carried.error.stderr or ''}")
        result = json.loads((directory / layout.RAW / layout.RESULT).read_text())
        if result["status"] != "ok":
            raise BenchError(f"{plan.experiment}: {json.dumps(result['error'])}")
        return look(directory) if look else result
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def root_qdisc(result: dict[str, Any], node: str, iface: str) -> dict[str, int]:
    """What `tc -s` counted at the root of an interface from t = 0 to the end."""
    after, before = (
        next(q for q in result[when][node][iface]["qdisc"] if q.get("root"))
        for when in ("tc_after", "tc_before")
    )
    return {name: after[name] - before[name] for name in ("packets", "bytes", "drops")}


def program(argv: list[str], cpu: int) -> dict[str, Any]:
    """A program that prints one JSON object, pinned to a core."""
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, preexec_fn=lambda: os.sched_setaffinity(0, {cpu})
    )
    if done.returncode:
        raise BenchError(f"{argv[0]}: exit status {done.returncode}: {done.stderr.strip()[-500:]}")
    shown: dict[str, Any] = json.loads(done.stdout)
    return shown


class PeakMemory(threading.Thread):
    """Largest sum of PSS (each page once) over the children of this process, sampled."""

    def __init__(self, interval_s: float = PEAK_INTERVAL_S) -> None:
        super().__init__(daemon=True)
        self._interval_s = interval_s
        self.pss_bytes = self.rss_bytes = self.samples = 0
        self._end = threading.Event()

    def __enter__(self) -> PeakMemory:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self.join()

    def run(self) -> None:
        while not self._end.wait(self._interval_s):
            pss, rss = 0, 0
            for pid in _descendants(os.getpid()):
                try:
                    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
                except OSError:  # it has ended
                    continue
                sizes = {line.split(":")[0]: int(line.split()[1]) for line in text.splitlines()[1:]}
                pss, rss = pss + sizes["Pss"] * 1024, rss + sizes["Rss"] * 1024
            self.samples += 1
            self.pss_bytes, self.rss_bytes = max(self.pss_bytes, pss), max(self.rss_bytes, rss)


def _descendants(root: int) -> list[int]:
    """Processes below `root`, itself not."""
    parent: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
    descendants, level = [], {root}
    while level := {pid for pid, above in parent.items() if above in level}:
        descendants += sorted(level)
    return descendants
