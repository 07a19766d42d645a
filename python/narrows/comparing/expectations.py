"""Whether runs hold what their experiment expects (`expect(…)`). A mark with nothing to look at fails.

Repetitions that are equal count as one (`narrows.comparing.repetitions`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from narrows.comparing import named_figure
from narrows.comparing.repetitions import equal_runs
from narrows.errors import UsageError
from narrows.plan.model import Plan
from narrows.plan.select import select_keys
from narrows.spec.axis import SEED
from narrows.spec.expect import Bound, expect
from narrows.store.results import Results
from narrows.units import Duration, Rate, Size

NS_PER = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


@dataclass(frozen=True)
class Verdict:
    """One mark at one condition (a point of all axes but the seed).

    `value` is the one that decides: of `each` the worst run's, else the statistic's; None if no run has it.
    """

    mark: str
    condition: Mapping[str, str]
    n: int
    """Runs that have the figure; of equal repetitions one."""
    of: int
    """Runs that should."""
    value: float | None
    unit: str
    holds: bool
    reason: str
    figure: str = ""
    source: str | None = None
    direction: str | None = None
    runs: tuple[str, ...] = ()
    """The ids of those that should."""


def judge(results: Results, runs: Mapping[str, Plan], marks: Sequence[expect]) -> list[Verdict]:
    """The verdict on each mark at each condition, in the order of the file. `runs`: all of the experiment.

    Raises UsageError, with the line, for a figure that no run has, or that has another unit than the mark.
    """
    again = {run for group in equal_runs(results, set(runs)) for run in group[1:]} if marks else set()
    different = {run: plan for run, plan in runs.items() if run not in again}
    return [verdict for mark in marks for verdict in _of_mark(results, different, mark)]


def _of_mark(results: Results, runs: Mapping[str, Plan], mark: expect) -> list[Verdict]:
    meant = select_keys([(plan.key, run) for run, plan in runs.items()], mark["only"])
    rows = named_figure.rows(
        results, mark["figure"], direction=mark["direction"], source=mark["source"], where=mark.where
    )
    found = {run: (value, unit) for run, value, unit in rows.select("run_id", "value", "unit").iter_rows()}
    units = sorted({unit for _, unit in found.values()})
    unit = units[0] if units else ""
    low, high = (_bound(mark, side, unit) for side in ("above", "below"))
    conditions: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for run in meant:
        key = tuple((axis, label) for axis, label in runs[run].key.items() if axis != SEED)
        conditions.setdefault(key, []).append(run)
    return [
        _verdict(mark, dict(key), {run: found.get(run, (None, unit))[0] for run in its}, unit, low, high)
        for key, its in conditions.items()
    ]


def _verdict(
    mark: expect,
    condition: dict[str, str],
    of_runs: Mapping[str, float | None],
    unit: str,
    low: float | None,
    high: float | None,
) -> Verdict:
    values = list(of_runs.values())
    there = [value for value in values if value is not None and not np.isnan(value)]
    sides = [(side, bound) for side, bound in (("above", low), ("below", high)) if bound is not None]
    wanted = " and ".join(f"{side} {shown(bound, unit)}" for side, bound in sides)
    quantile = mark["of"]
    which = "each run" if quantile is None else f"p{100 * quantile:g} of repetitions"
    meant = " ".join(part for part in (mark["figure"], mark["direction"]) if part)
    meant += f" of {mark['source']}" if mark["source"] else ""
    name = f"{meant} {wanted}, {which}"
    value: float | None = None
    if there and quantile is not None:
        value = float(np.quantile(there, quantile))
    elif there:
        # The one that is furthest on the wrong side, or nearest to it.
        over = [(v - high) if high is not None else -np.inf for v in there]
        under = [(low - v) if low is not None else -np.inf for v in there]
        value = there[int(np.argmax(np.maximum(over, under)))]
    missing = len(values) - len(there)
    right = value is not None and (low is None or value > low) and (high is None or value < high)
    reason = f"{missing} of {len(values)} runs have no such figure" if missing else ""
    if value is not None and not right:
        reason = "; ".join(part for part in (f"{shown(value, unit)} is not {wanted}", reason) if part)
    holds = right and not missing
    meaning = (mark["figure"], mark["source"], mark["direction"], tuple(of_runs))
    return Verdict(name, condition, len(there), len(values), value, unit, holds, reason, *meaning)


def shown(value: float, unit: str) -> str:
    if unit == "bit/s":
        return f"{value / 1e6:.6g} Mbit/s"
    return f"{value:.6g}" if unit in ("1", "") else f"{value:.6g} {unit}"


def _bound(mark: expect, side: str, unit: str) -> float | None:
    bound: Bound | None = mark[side]
    match bound, unit:
        case None, _:
            return None
        case float(), _:
            return float(bound)
        case Rate(), "bit/s":
            return float(bound.bps)
        case Size(), "bytes":
            return float(bound.bytes)
        case Duration(), _ if unit in NS_PER:
            return bound.ns / NS_PER[unit]
    raise UsageError(
        f"{side}: {bound} does not fit {mark['figure']}, which is in {unit or 'no unit that is known'}",
        where=mark.where,
        remedy="a plain number is always of the figure's own unit",
    )
