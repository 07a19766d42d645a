"""The medium `opportunities`: a measured link, from a file. Those of one instant are one."""

from collections.abc import Sequence
from pathlib import Path

from narrows.media.schedule import MOST_BYTES, Schedule, Turn
from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.media.base import Medium, check_serves
from narrows.spec.media.trace_file import TraceFile, is_csv

MAHIMAHI_OVERHEAD_BYTES = 4
"""mm-link counts what its tun device hands it: the IP packet and four bytes."""


def schedule(at: Sequence[tuple[int, int]], repeat_ns: int, *, splits: bool, overhead_bytes: int) -> Schedule:
    """Times in nanoseconds that never fall, each with the bytes that may be sent then."""
    summed: list[list[int]] = []
    for at_ns, size in at:
        if summed and summed[-1][0] == at_ns:
            summed[-1][1] += size
        else:
            summed.append([at_ns, size])
    turns, last = [], 0
    for at_ns, size in summed:
        turns.append(Turn(at_ns - last, size))
        last = at_ns
    return Schedule(tuple(turns), repeat_ns, splits=splits, overhead_bytes=overhead_bytes)


class opportunities(Medium):
    """A measured link: a file of times, each with what could be sent then. Mahimahi's format (a time in
    whole ms a line, 1504 bytes each), or a .csv of time and bytes. After the last time it begins again."""

    positional = ("file",)

    file: str = option(p.text, doc="beside the experiment")
    splits: bool = option(p.flag, default=True, doc="a packet may go in parts, as in Mahimahi")
    overhead: int | None = option(
        p.optional(p.count(0, 100)), default=None, doc="bytes that count beside the IP packet; Mahimahi's: 4"
    )

    def check(self) -> None:
        path = Path(self.where.rpartition(":")[0]).parent / self["file"]
        at, repeat_ns = TraceFile(path, self["file"], self.fail).read()
        overhead = self["overhead"]
        if overhead is None:
            overhead = 0 if is_csv(path) else MAHIMAHI_OVERHEAD_BYTES
        self._schedule = schedule(at, repeat_ns, splits=self["splits"], overhead_bytes=overhead)
        if max(turn.bytes for turn in self._schedule.turns) > MOST_BYTES:
            self.fail(f"{self['file']}: over {MOST_BYTES} bytes at one time", "scale the trace down")
        for way in self.ways:
            check_serves(self, self._schedule, way)

    def schedule(self, way: str) -> Schedule:
        return self._schedule

    def described(self) -> str:
        return f"opportunities of {Path(self['file']).name}"
