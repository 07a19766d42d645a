"""Reads traces of a link's rate: Mahimahi's format and CSV. Every mistake names the file's line.

Mahimahi: one whole number of milliseconds a line, never falling; at each, one packet of 1504 bytes may pass.
The last line is the period after which the trace begins again. Opportunities are counted in bins of `step`.
CSV: a header and rows in order of time, the first at 0; a rate holds until the next row, the last for ever.
"""

from __future__ import annotations

import csv
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

from narrows.errors import SpecError, UnitError, nearest
from narrows.spec.moving_rate import MovingRate, Step, Time, made
from narrows.spec.where import caller
from narrows.units import NS_PER_MS, NS_PER_S, Duration, Rate

OPPORTUNITY_BITS = 1504 * 8
TIMES = {"time": None, "time_s": NS_PER_S, "time_ms": NS_PER_MS, "t_ns": 1}
RATES = {"rate": None, "rate_bps": 1, "rate_kbps": 10**3, "rate_mbps": 10**6}
"""What a CSV's columns may be called, and their units; in `time` and `rate` each cell has its own."""


def trace(file: str, step: Time = "20 ms") -> MovingRate:
    """The rate of a trace file, which lies beside the experiment. `.csv` is CSV, all else Mahimahi's format;
    `step` is the width of the bins of the latter."""
    if not isinstance(file, str) or not file:
        raise SpecError(f"trace: {file!r} is not a file's name", where=caller(), remedy='trace("drive.down")')
    path = Path(caller().rpartition(":")[0]).parent / file
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        _wrong(f"{file} is not a text file", "Mahimahi's format, or a CSV of time and rate")
    except OSError as error:
        close = nearest(path.name, [p.name for p in path.parent.glob("*")]) if path.parent.is_dir() else None
        _wrong(f"cannot read {file}: {error.strerror}", f"did you mean {close}?" if close else
               "give the file's path from the experiment's folder")  # fmt: skip
    rows = [(n, line.strip()) for n, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        _wrong(f"{file} has no rows", "one line a packet (Mahimahi), or a header and rows of time and rate")
    if path.suffix == ".csv":
        steps = _csv(file, rows)
        gaps = [later[0] - step[0] for step, later in pairwise(steps)]
        # The last rate holds for ever; in the mean it counts as long as the longest of the others.
        return made(path.stem, steps, steps[-1][0] + max(gaps, default=NS_PER_S), repeats=False)
    try:
        width_ns = Duration.parse(step).ns
    except UnitError as error:
        _wrong(f"step: {error.message}", error.remedy)
    if width_ns < NS_PER_MS or width_ns % NS_PER_MS:
        _wrong(f"step: {step} is not a whole number of milliseconds", 'such as "20 ms"')
    steps, period_ns = _mahimahi(file, rows, width_ns)
    return made(path.name, steps, period_ns, repeats=True)


def _wrong(message: str, remedy: str | None) -> NoReturn:
    raise SpecError(f"trace: {message}", where=caller(), remedy=remedy)


def _mahimahi(file: str, rows: list[tuple[int, str]], width_ns: int) -> tuple[list[Step], int]:
    times: list[int] = []
    for n, text in rows:
        if not text.removeprefix("-").isdecimal():
            _wrong(f"{file}:{n}: {text[:40]!r} is not a whole number of milliseconds",
                   "one time a line; name a CSV of time and rate .csv")  # fmt: skip
        at = int(text)
        if at < 0:
            _wrong(f"{file}:{n}: a negative time, {at} ms", "times count from the trace's begin")
        if times and at < times[-1]:
            _wrong(f"{file}:{n}: {at} ms after {times[-1]} ms", "times must not fall: sort the file")
        times.append(at)
    period_ns = times[-1] * NS_PER_MS
    if not period_ns:
        _wrong(f"{file}: all its times are 0", "the last time is the trace's length")
    counts = [0] * -(-period_ns // width_ns)
    for at in times:
        counts[min(at * NS_PER_MS // width_ns, len(counts) - 1)] += 1
    steps = []
    for n, packets in enumerate(counts):
        length_ns = min(width_ns, period_ns - n * width_ns)
        steps.append((n * width_ns, packets * OPPORTUNITY_BITS * NS_PER_S // length_ns))
    return steps, period_ns


def _csv(file: str, rows: list[tuple[int, str]]) -> list[Step]:
    cells = []
    for n, text in rows:
        try:
            (row,) = csv.reader([text], strict=True)
        except csv.Error:
            _wrong(f"{file}:{n}: {text[:60]!r}: a quote that is not closed, or in a cell", "leave quotes out")
        cells.append((n, [cell.strip() for cell in row]))
    (_, header), body = cells[0], cells[1:]
    if len(header) != 2 or header[0] not in TIMES or header[1] not in RATES:
        _wrong(
            f"{file}:{rows[0][0]}: the header is {','.join(header)[:60]!r}",
            f"{' or '.join(TIMES)}, then {' or '.join(RATES)}: time_s,rate_mbps",
        )
    if not body:
        _wrong(f"{file} has no rows", "a header and rows of time and rate")
    steps: list[Step] = []
    for n, row in body:
        if len(row) != 2:
            _wrong(f"{file}:{n}: {len(row)} cells", "two: a time and a rate")
        at_ns = _cell(file, n, row[0], TIMES[header[0]], Duration, "time")
        bps = _cell(file, n, row[1], RATES[header[1]], Rate, "rate")
        if steps and at_ns <= steps[-1][0]:
            _wrong(f"{file}:{n}: a time of {row[0]} is not after the one before it", "sort the rows by time")
        if not steps and at_ns:
            _wrong(f"{file}:{n}: the first row is at {row[0]}", "the first time is 0: subtract it from all")
        steps.append((at_ns, bps))
    return steps


def _cell(
    file: str, n: int, text: str, scale: int | None, kind: type[Duration] | type[Rate], what: str
) -> int:
    """The cell in nanoseconds or bit/s."""
    try:
        if scale is None:
            value = kind.parse(text)
            return value.ns if isinstance(value, Duration) else value.bps
        number = Decimal(text)
        if not number.is_finite():
            raise InvalidOperation
    except (UnitError, InvalidOperation):
        example = kind.example if scale is None else "12.5"
        _wrong(f"{file}:{n}: {text[:40]!r} is not a {what}", f'such as "{example}"')
    if number < 0:
        _wrong(f"{file}:{n}: a negative {what}, {text}", f"a {what} of 0 or more")
    return int(number * scale)
