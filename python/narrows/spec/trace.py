"""A link's rate from a trace (`media.trace_file` reads it).

Mahimahi's opportunities are counted in bins of `step`.
CSV: a header and rows in order of time, the first at 0; a rate holds until the next row, the last for ever.
"""

from decimal import Decimal, InvalidOperation
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

from narrows.errors import SpecError, UnitError
from narrows.spec.media.trace_file import MAHIMAHI_BYTES, Rows, TraceFile, is_csv
from narrows.spec.moving_rate import MovingRate, Step, Time, made
from narrows.spec.where import caller
from narrows.units import NS_PER_MS, NS_PER_S, Duration, Rate

TIMES = {"time": None, "time_s": NS_PER_S, "time_ms": NS_PER_MS, "t_ns": 1}
RATES = {"rate": None, "rate_bps": 1, "rate_kbps": 10**3, "rate_mbps": 10**6}
"""What a CSV's columns may be called, and their units; in `time` and `rate` each cell has its own."""


def trace(file: str, step: Time = "20 ms") -> MovingRate:
    """The rate of a trace file, which lies beside the experiment. `.csv` is CSV, all else Mahimahi's format;
    `step` is the width of the bins of the latter."""
    if not isinstance(file, str) or not file:
        raise SpecError(f"trace: {file!r} is not a file's name", where=caller(), remedy='trace("drive.down")')
    path = Path(caller().rpartition(":")[0]).parent / file
    read = TraceFile(path, file, _fail)
    rows = read.rows()
    if is_csv(path):
        steps = _csv(read, rows)
        gaps = [later[0] - step[0] for step, later in pairwise(steps)]
        # The last rate holds for ever; in the mean it counts as long as the longest of the others.
        return made(path.stem, steps, steps[-1][0] + max(gaps, default=NS_PER_S), repeats=False)
    try:
        width_ns = Duration.parse(step).ns
    except UnitError as error:
        _fail(f"step: {error.message}", error.remedy)
    if width_ns < NS_PER_MS or width_ns % NS_PER_MS:
        _fail(f"step: {step} is not a whole number of milliseconds", 'such as "20 ms"')
    times = read.mahimahi(rows)
    return made(path.name, _binned(times, read.period_ns(times), width_ns), times[-1], repeats=True)


def _fail(message: str, remedy: str | None = None) -> NoReturn:
    raise SpecError(f"trace: {message}", where=caller(), remedy=remedy)


def _binned(times: list[int], period_ns: int, width_ns: int) -> list[Step]:
    counts = [0] * -(-period_ns // width_ns)
    for at_ns in times:
        counts[min(at_ns // width_ns, len(counts) - 1)] += 1
    steps = []
    for n, packets in enumerate(counts):
        length_ns = min(width_ns, period_ns - n * width_ns)
        steps.append((n * width_ns, packets * MAHIMAHI_BYTES * 8 * NS_PER_S // length_ns))
    return steps


def _csv(read: TraceFile, rows: Rows) -> list[Step]:
    header, body = read.cells(rows, TIMES, RATES)
    steps: list[Step] = []
    for n, row in body:
        at_ns = _cell(read, n, row[0], TIMES[header[0]], Duration, "time")
        bps = _cell(read, n, row[1], RATES[header[1]], Rate, "rate")
        if steps and at_ns <= steps[-1][0]:
            read.wrong(n, f"a time of {row[0]} is not after the one before it", "sort the rows by time")
        if not steps and at_ns:
            read.wrong(n, f"the first row is at {row[0]}", "the first time is 0: subtract it from all")
        steps.append((at_ns, bps))
    return steps


def _cell(
    read: TraceFile, n: int, text: str, scale: int | None, kind: type[Duration] | type[Rate], what: str
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
        read.wrong(n, f"{text[:40]!r} is not a {what}", f'such as "{example}"')
    if number < 0:
        read.wrong(n, f"a negative {what}, {text}", f"a {what} of 0 or more")
    return int(number * scale)
