"""Reads a trace of transmit opportunities: Mahimahi's format and CSV. Every mistake names the file's line."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol

from narrows.errors import nearest
from narrows.media.schedule import MOST_BYTES, MOST_TURNS
from narrows.units import NS_PER_MS, NS_PER_S

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

    def _wrong(self, n: int | None, message: str, remedy: str) -> NoReturn:
        self.fail(f"{self.name}{'' if n is None else f':{n}'}: {message}", remedy)

    def read(self) -> tuple[list[tuple[int, int]], int]:
        """Times in nanoseconds with bytes, and after how long it begins again."""
        try:
            lines = self.path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError:
            self._wrong(None, "is not a text file", "Mahimahi's format, or a CSV of time and bytes")
        except OSError as error:
            names = [each.name for each in self.path.parent.glob("*")] if self.path.parent.is_dir() else []
            close = nearest(self.path.name, names)
            self._wrong(None, f"cannot be read: {error.strerror}", f"did you mean {close}?" if close else
                        "give the file's path from the experiment's folder")  # fmt: skip
        rows = [(n, line.strip()) for n, line in enumerate(lines, 1) if line.strip()]
        if not rows:
            self._wrong(
                None, "is empty", "one line an opportunity: its time in ms, or a CSV's time and bytes"
            )
        if len(rows) > MOST_TURNS:
            self._wrong(None, f"{len(rows)} lines", f"at most {MOST_TURNS}: cut the trace")
        at = self._csv(rows) if is_csv(self.path) else self._mahimahi(rows)
        if not any(size for _, size in at):
            self._wrong(None, "it never sends anything", "a trace with some opportunity")
        if not at[-1][0]:
            self._wrong(None, "all its times are 0", "the last time is the trace's length")
        return at, at[-1][0]

    def _time(self, n: int, text: str, scale: int) -> int:
        whole, _, rest = text.removeprefix("-").partition(".")
        if not (whole + rest).isdecimal() or (rest and scale == NS_PER_MS and "." not in text):
            self._wrong(n, f"{text[:40]!r} is not a time", "a number, such as 12")
        if text.startswith("-"):
            self._wrong(n, f"a negative time, {text}", "times count from the trace's begin")
        if len(whole) + len(rest) > 18:
            self._wrong(n, f"{text[:40]!r} is too long for a time", "a trace of days at most")
        return int(whole or 0) * scale + int(rest.ljust(9, "0")[:9] or 0) * scale // NS_PER_S

    def _mahimahi(self, rows: list[tuple[int, str]]) -> list[tuple[int, int]]:
        at: list[tuple[int, int]] = []
        for n, text in rows:
            if "." in text:
                self._wrong(
                    n, f"{text[:40]!r} is not a whole number of ms", "a CSV of time_ms,bytes has parts"
                )
            at_ns = self._time(n, text, NS_PER_MS)
            if at and at_ns < at[-1][0]:
                self._wrong(
                    n, f"{text} ms after {at[-1][0] // NS_PER_MS} ms", "times must not fall: sort the file"
                )
            at.append((at_ns, MAHIMAHI_BYTES))
        return at

    def _csv(self, rows: list[tuple[int, str]]) -> list[tuple[int, int]]:
        cells = [(n, [cell.strip() for cell in next(csv.reader([text]), [])]) for n, text in rows]
        (first, header), body = cells[0], cells[1:]
        if len(header) != 2 or header[0] not in TIMES or header[1] != "bytes":
            self._wrong(first, f"the header is {','.join(header)[:60]!r}",
                        f"{' or '.join(TIMES)}, then bytes: time_ms,bytes")  # fmt: skip
        if not body:
            self._wrong(None, "has no rows", "a header and rows of time and bytes")
        at: list[tuple[int, int]] = []
        for n, row in body:
            if len(row) != 2:
                self._wrong(n, f"{len(row)} cells", "two: a time and bytes")
            at_ns = self._time(n, row[0], TIMES[header[0]])
            if at and at_ns < at[-1][0]:
                self._wrong(n, f"{row[0]} is before the time of the row above", "sort the rows by time")
            if not row[1].isdecimal():
                self._wrong(n, f"{row[1][:40]!r} are no bytes", "a whole number of 0 or more")
            at.append((at_ns, min(int(row[1]), MOST_BYTES + 1)))
        return at
