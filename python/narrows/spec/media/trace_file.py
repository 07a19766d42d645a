"""Reads traces of links, of what could be sent when and of rates: Mahimahi's format, and CSV of two columns.
Every mistake names the file's line.

Mahimahi: one whole number of milliseconds a line, never falling; at each, one packet of 1504 bytes may pass.
The last line is the period after which the trace begins again.
"""

import csv
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol

from narrows.errors import nearest
from narrows.media.schedule import MOST_BYTES, MOST_TURNS
from narrows.units import NS_PER_MS, NS_PER_S

Rows = list[tuple[int, str]]
MAHIMAHI_BYTES = 1504
TIMES = {"time_s": NS_PER_S, "time_ms": NS_PER_MS, "time_us": 1000, "t_ns": 1}


def is_csv(path: Path) -> bool:
    """Whether it has a header and cells; else it is Mahimahi's."""
    return path.suffix.lower() == ".csv"


class Fail(Protocol):
    """Raises an error: what is wrong, and the remedy."""

    def __call__(self, message: str, remedy: str | None = None) -> NoReturn: ...


@dataclass(frozen=True)
class TraceFile:
    """A file, as whoever named it calls it, and how to say what is wrong with it."""

    path: Path
    name: str
    fail: Fail

    def wrong(self, n: int | None, message: str, remedy: str | None) -> NoReturn:
        """Raise the error of a line, or of the file."""
        self.fail(f"{self.name}{'' if n is None else f':{n}'}: {message}", remedy)

    def read(self) -> tuple[list[tuple[int, int]], int]:
        """Transmit opportunities: times in nanoseconds with bytes, and after how long it begins again."""
        rows = self.rows()
        if len(rows) > MOST_TURNS:
            self.wrong(None, f"{len(rows)} lines", f"at most {MOST_TURNS}: cut the trace")
        if is_csv(self.path):
            at = self._csv(rows)
        else:
            at = [(at_ns, MAHIMAHI_BYTES) for at_ns in self.mahimahi(rows)]
        if not any(size for _, size in at):
            self.wrong(None, "it never sends anything", "a trace with some opportunity")
        return at, self.period_ns([at_ns for at_ns, _ in at])

    def rows(self) -> Rows:
        """The lines that are not empty, with their numbers."""
        try:
            lines = self.path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError:
            self.wrong(None, "is not a text file", "Mahimahi's format, or a CSV of two columns")
        except OSError as error:
            names = [each.name for each in self.path.parent.glob("*")] if self.path.parent.is_dir() else []
            close = nearest(self.path.name, names)
            self.wrong(None, f"cannot be read: {error.strerror}", f"did you mean {close}?" if close else
                       "give the file's path from the experiment's folder")  # fmt: skip
        rows = [(n, line.strip()) for n, line in enumerate(lines, 1) if line.strip()]
        if not rows:
            self.wrong(None, "is empty", "one line an opportunity: its time in ms, or a CSV with a header")
        return rows

    def mahimahi(self, rows: Rows) -> list[int]:
        """The times of opportunities, in nanoseconds."""
        at: list[int] = []
        for n, text in rows:
            if not text.removeprefix("-").isdecimal():
                self.wrong(n, f"{text[:40]!r} is not a whole number of milliseconds",
                           "one time a line; a CSV is called .csv")  # fmt: skip
            at_ns = self._time(n, text, NS_PER_MS)
            if at and at_ns < at[-1]:
                self.wrong(
                    n, f"{text} ms after {at[-1] // NS_PER_MS} ms", "times must not fall: sort the file"
                )
            at.append(at_ns)
        return at

    def period_ns(self, times: list[int]) -> int:
        """The last time, after which it begins again."""
        if not times[-1]:
            self.wrong(None, "all its times are 0", "the last time is the trace's length")
        return times[-1]

    def cells(
        self, rows: Rows, times: Collection[str], values: Collection[str]
    ) -> tuple[list[str], list[tuple[int, list[str]]]]:
        """A CSV's header, of one of `times` and one of `values`, and the two cells of each row."""
        cells = []
        for n, text in rows:
            try:
                (row,) = csv.reader([text], strict=True)
            except csv.Error:
                self.wrong(n, f"{text[:60]!r}: a quote that is not closed, or in a cell", "leave quotes out")
            cells.append((n, [cell.strip() for cell in row]))
        (first, header), *body = cells
        if len(header) != 2 or header[0] not in times or header[1] not in values:
            self.wrong(first, f"the header is {','.join(header)[:60]!r}",
                       f"{' or '.join(times)}, then {' or '.join(values)}")  # fmt: skip
        if not body:
            self.wrong(None, "has no rows", "a header, and rows of two cells")
        for n, row in body:
            if len(row) != 2:
                self.wrong(n, f"{len(row)} cells", f"two: {','.join(header)}")
        return header, body

    def _time(self, n: int, text: str, scale: int) -> int:
        whole, _, rest = text.removeprefix("-").partition(".")
        if not (whole + rest).isdecimal():
            self.wrong(n, f"{text[:40]!r} is not a time", "a number, such as 12")
        if text.startswith("-"):
            self.wrong(n, f"a negative time, {text}", "times count from the trace's begin")
        if len(whole) + len(rest) > 18:
            self.wrong(n, f"{text[:40]!r} is too long for a time", "a trace of days at most")
        return int(whole or 0) * scale + int(rest.ljust(9, "0")[:9] or 0) * scale // NS_PER_S

    def _csv(self, rows: Rows) -> list[tuple[int, int]]:
        header, body = self.cells(rows, TIMES, ("bytes",))
        at: list[tuple[int, int]] = []
        for n, row in body:
            at_ns = self._time(n, row[0], TIMES[header[0]])
            if at and at_ns < at[-1][0]:
                self.wrong(n, f"{row[0]} is before the time of the row above", "sort the rows by time")
            if not row[1].isdecimal():
                self.wrong(n, f"{row[1][:40]!r} are no bytes", "a whole number of 0 or more")
            at.append((at_ns, min(int(row[1]), MOST_BYTES + 1)))
        return at
