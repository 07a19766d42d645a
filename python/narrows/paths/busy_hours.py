"""Busy against quiet hours (N5): does peak queueing delay rise when most sessions run?

Source: Philip 2025, section 5.5.4. A day has eight windows of three hours of local time. The busy window of a
country has most sessions, the quiet one fewest; a pair of country and network is tested when it has at least
500 sessions in its quiet window. For each shift of 10, 20, … 100 ms a one-sided Mann–Whitney U test asks
whether the busy delays, less the shift, are greater (p < 0.05). The thesis names no correction for testing
31 pairs ten times each, so every p is given as it is and by Holm's method over all tests of the call.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from narrows.errors import UsageError
from narrows.units import NS_PER_H, NS_PER_MS

WINDOW_H = 3
SHIFTS_MS = tuple(range(10, 101, 10))
LEAST_QUIET = 500
ALPHA = 0.05
PERCENTILES = tuple(range(5, 96, 5))
NEEDED = ("start_ns", "utc_offset_h", "country", "network", "peak_queueing_delay_ns")


@dataclass(frozen=True)
class ShiftTest:
    """One shift of one pair. `effect` is the common-language effect size: the chance that a busy session's
    delay exceeds a quiet one's by more than the shift (ties count half); 0.5 is no difference."""

    country: str
    network: str
    busy_start_h: int
    quiet_start_h: int
    busy_sessions: int
    quiet_sessions: int
    shift_ms: int
    p: float
    p_holm: float
    effect: float

    @property
    def significant(self) -> bool:
        """p < 0.05 with no correction, as in the definition."""
        return self.p < ALPHA

    @property
    def significant_holm(self) -> bool:
        """With Holm's correction over all tests of the call."""
        return self.p_holm < ALPHA


def busy_hours(sessions: pl.DataFrame, *, least_quiet: int = LEAST_QUIET) -> list[ShiftTest]:
    """Every test of every pair that has enough quiet sessions; none where there is no such pair.

    Reads `start_ns`, `utc_offset_h` (local time less UTC), `country`, `network` and `peak_queueing_delay_ns`;
    a session with any of them NULL is left out.
    """
    from scipy import stats  # takes a second, of every command that knows the studies

    missing = [name for name in NEEDED if name not in sessions.columns]
    if missing:
        raise UsageError(
            f"sessions have no column {missing[0]}",
            remedy="--metadata FILE.csv with client, country, network and utc_offset_h",
        )
    shift_tests: list[ShiftTest] = []
    for pair in _pairs(sessions, "peak_queueing_delay_ns", least_quiet):
        shifted = pair.busy.astype(np.int64) - np.array(SHIFTS_MS)[:, None] * NS_PER_MS
        tested = stats.mannwhitneyu(shifted, pair.quiet[None, :], alternative="greater", axis=1)
        for shift, p, statistic in zip(SHIFTS_MS, tested.pvalue, tested.statistic, strict=True):
            shift_tests.append(
                ShiftTest(
                    country=pair.country,
                    network=pair.network,
                    busy_start_h=pair.busy_start_h,
                    quiet_start_h=pair.quiet_start_h,
                    busy_sessions=len(pair.busy),
                    quiet_sessions=len(pair.quiet),
                    shift_ms=shift,
                    p=float(p),
                    p_holm=1.0,
                    effect=float(statistic) / (len(pair.busy) * len(pair.quiet)),
                )
            )
    corrected = holm([test.p for test in shift_tests])
    return [replace(test, p_holm=p) for test, p in zip(shift_tests, corrected, strict=True)]


def busy_quiet_ratios(
    sessions: pl.DataFrame, column: str, *, least_quiet: int = LEAST_QUIET
) -> pl.DataFrame | None:
    """Busy over quiet values of a column at the 5th, 10th, … 95th percentile of each pair: columns country,
    network, percentile, ratio. None without what pairs are made of."""
    if not {*NEEDED, column} <= set(sessions.columns):
        return None
    rows = []
    for pair in _pairs(sessions, column, least_quiet):
        busy, quiet = (np.percentile(part, PERCENTILES) for part in (pair.busy, pair.quiet))
        rows += [
            (pair.country, pair.network, percentile, float(b / q))
            for percentile, b, q in zip(PERCENTILES, busy, quiet, strict=True)
            if q > 0
        ]
    schema = {"country": pl.String, "network": pl.String, "percentile": pl.Int64, "ratio": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


@dataclass(frozen=True)
class _Pair:
    """A country and network, and a column's values in its country's busy and quiet windows."""

    country: str
    network: str
    busy_start_h: int
    quiet_start_h: int
    busy: NDArray[np.float64]
    quiet: NDArray[np.float64]


def _pairs(sessions: pl.DataFrame, column: str, least_quiet: int) -> Iterator[_Pair]:
    """Every pair with enough quiet sessions. Sessions in which anything needed is NULL are left out."""
    local_ns = pl.col("start_ns") + (pl.col("utc_offset_h") * NS_PER_H).cast(pl.Int64)
    whole = sessions.drop_nulls([*NEEDED, column]).with_columns(
        _window=(local_ns // NS_PER_H) % 24 // WINDOW_H * WINDOW_H
    )
    for country, of_country in _parts(whole, "country"):
        busy, quiet = _windows(of_country["_window"].to_numpy())
        if busy == quiet:
            continue
        for network, pair in _parts(of_country, "network"):
            window, value = pair["_window"].to_numpy(), pair[column].to_numpy()
            values = {w: value[window == w] for w in (busy, quiet)}
            if len(values[quiet]) >= least_quiet and len(values[busy]):
                yield _Pair(country, network, busy, quiet, values[busy], values[quiet])


def _parts(sessions: pl.DataFrame, column: str) -> list[tuple[str, pl.DataFrame]]:
    """The sessions of each value of a column, in order of the values."""
    parts = sessions.partition_by(column, as_dict=True)
    return sorted(((str(value), part) for (value,), part in parts.items()), key=lambda each: each[0])


def _windows(windows: NDArray[np.int64]) -> tuple[int, int]:
    """Start hours of the windows with most and with fewest sessions; of equals the earlier.

    A window without any session is none: it has nothing to compare.
    """
    hours, counts = np.unique(windows, return_counts=True)
    return int(hours[np.argmax(counts)]), int(hours[np.argmin(counts)])


def holm(p: Sequence[float]) -> list[float]:
    """P values corrected by Holm's step-down method, in their order."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    corrected = [1.0] * len(p)
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (len(p) - rank) * p[index]))
        corrected[index] = running
    return corrected
