"""A figure that a person asks for in words: `download throughput against rate, by queue`.

The quantity is any of the report's table; `share by cca` is all shares of CCAs at once.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from narrows.comparing.conditions import axes, varying
from narrows.errors import UsageError, did_you_mean
from narrows.figures.against import Point, draw, write_csv
from narrows.figures.drawing import Result, run_ids
from narrows.report.table import summary
from narrows.runs.observed import Observed

SECTION = "Asked for"
SHARES, A_SHARE = "share by cca", re.compile(r"(\w+ )?share of [^:]+")
_WORDS = re.compile(r"(?P<what>.+?)\s+against\s+(?P<x>\w+)(?:\s*,?\s+by\s+(?P<by>\w+))?")
_SUCH = 'such as --figure "download throughput against rate, by queue"'


@dataclass(frozen=True)
class Asked:
    """A figure that the runs can give."""

    words: str
    name: str
    x: str
    by: str
    points: tuple[Point, ...]
    over: str
    runs: tuple[Observed, ...]

    def maker(self, folder: Path) -> tuple[str, Callable[[], Result]]:
        """Its section, and what draws it and writes its numbers beside it."""

        def make() -> Result:
            write_csv(self.points, folder / f"{self.name}.csv", self.x, self.by)
            title = self.words[:1].upper() + self.words[1:]
            return draw(self.points, self.name, title, self.x, self.by, self.over, run_ids(self.runs))

        return SECTION, make


def asked(words: str, runs: Sequence[Observed]) -> Asked:
    """Understand it; a UsageError says which word is not known and what the nearest is."""
    good, found = [run for run in runs if run.ok], _WORDS.fullmatch(words.strip())
    if found is None:
        raise UsageError(f"--figure {words!r} is not understood", remedy=_SUCH)
    what, x, by = found["what"], found["x"], found["by"] or ""
    known = axes(good)
    for axis in (x, *([by] if by else [])):
        if axis not in known:
            raise UsageError(f"--figure: no run here has an axis {axis!r}", remedy=did_you_mean(axis, known))
    if x == by:
        raise UsageError(f"--figure: {x!r} is named twice", remedy=_SUCH)
    on = tuple(axis for axis in (x, by) if axis)
    rows = summary(good, on).rows
    names = list(dict.fromkeys(row.quantity for row in rows))
    wanted = [n for n in names if (A_SHARE.fullmatch(n) if what == SHARES else n == what)]
    if not wanted:
        raise UsageError(f"--figure: these runs have no {what!r}", remedy=did_you_mean(what, names))
    points = [
        Point(row.condition[0], row.condition[1] if by else "", row.quantity, row.unit, row.over, row.values)
        for row in rows
        if row.quantity in wanted
    ]
    also = varying(good, besides=on)
    over = f"Runs of a point also differ in {', '.join(also)}. " if also else ""
    name = re.sub(r"\W+", "_", words.strip()).lower()
    return Asked(words.strip(), name, x, by, tuple(points), over, tuple(good))
