"""When a responsiveness test may stop, and how far its answer can be trusted: the draft's stability rule.

Definition (draft-ietf-ippm-responsiveness-08 and -09, "Final Algorithm" and "Confidence of test-results"):
- moving average goodput at interval p = bytes of p and the MAD - 1 intervals before it over MAD x ID.
Before the start nothing was transferred, so the first averages are low; a constant goodput is stable at
interval 6.
- stage 1 ends when the standard deviation of the last MAD moving averages is below SDT of the current one.
- stage 2 starts with the next interval: each interval's RPM is that of the probes completed in the last MAD
intervals, and it ends when the standard deviation of the last MAD of these is below SDT of the current one.
- confidence of a stage: low if it ran fewer than MAD intervals, high if it became stable, else medium.

Ours, where the draft is silent: the standard deviation is the population's (as in goresponsiveness), an
interval without an RPM is not stable, and a stage 1 that runs into its limit gives way to stage 2 without
being stable.

goresponsiveness decides otherwise (stabilizer/algorithm.go, networkQuality.go): it takes intervals' own
means, not moving averages, and <= SDT of their mean; and it looks before it files the interval that has just
ended, so the MAD intervals before that one count and a constant goodput is stable at interval 4.
`is_stable_go` is that.

Unit: intervals counted from 0.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np
import polars as pl

from narrows.metrics.latency.responsiveness import DRAFT_09, Parameters, Responsiveness, responsiveness_of
from narrows.metrics.statistics.arrays import Floats, Values, raw
from narrows.metrics.statistics.columns import ascending


class Confidence(Enum):
    """The draft's words."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True)
class Assessment:
    """What the draft's algorithm says of a test; stable_at is None where a stage never became stable."""

    version: str
    intervals: int
    goodput_stable_at: int | None
    goodput_confidence: Confidence
    responsiveness_stable_at: int | None
    responsiveness_confidence: Confidence
    result: Responsiveness  # at the interval where the test ends


def moving_average_goodput_bps(interval_bytes: Values, parameters: Parameters = DRAFT_09) -> Floats:
    """The moving average at each interval, in bit/s."""
    x = raw(interval_bytes)
    if np.isnan(x).any():
        raise ValueError("an interval's bytes are missing; an interval in which nothing arrived has 0 bytes")
    sums = np.cumsum(np.concatenate((np.zeros(parameters.mad), x)))
    total: Floats = (sums[parameters.mad :] - sums[: -parameters.mad]) * 8.0
    return total / (parameters.mad * parameters.interval_s)


def is_stable_go(interval_means: Values, mad: int = 4, sdt_percent: float = 5.0) -> bool | None:
    """goresponsiveness, when the last interval given has just ended: standard deviation of the means of the
    MAD intervals before it <= SDT of their mean."""
    x = raw(interval_means)[:-1][-mad:]
    if x.size < mad:
        return None
    return bool(not np.isnan(x).any() and np.std(x) <= float(np.mean(x)) * sdt_percent / 100.0)


def first_stable(values: Values, parameters: Parameters = DRAFT_09) -> int | None:
    """Index of the first value at which the series is stable; None if it never is."""
    x = raw(values)
    if x.size < parameters.mad:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(x, parameters.mad)
    stable = np.flatnonzero(np.std(windows, axis=1) < parameters.sdt * windows[:, -1])  # NaN compares false
    return int(stable[0]) + parameters.mad - 1 if stable.size else None


def confidence(intervals_run: int, stable: bool, parameters: Parameters = DRAFT_09) -> Confidence:
    """Confidence of a stage that ran so many intervals."""
    if intervals_run < parameters.mad:
        return Confidence.LOW
    return Confidence.HIGH if stable else Confidence.MEDIUM


def assess(
    interval_bytes: Values,
    probes: pl.DataFrame,
    parameters: Parameters = DRAFT_09,
    start_ns: int = 0,
    goodput_limit: int | None = None,
) -> Assessment:
    """Run the algorithm over what a test recorded.

    `probes` is the table of `responsiveness_of` with t_ns (completion), in order of t_ns; interval i covers
    [start + i ID, start + (i+1) ID). `goodput_limit` is the number of intervals stage 1 may take.
    """
    goodput = moving_average_goodput_bps(interval_bytes, parameters)
    count = int(goodput.size)
    if count == 0:
        raise ValueError("no intervals: there is no test to assess")
    times = ascending(raw(probes["t_ns"]), "t_ns of the probes")
    limit = count if goodput_limit is None else min(goodput_limit, count)
    saturated = first_stable(goodput[:limit], parameters)
    first = limit if saturated is None else saturated + 1

    def at(interval: int) -> Responsiveness:
        end = start_ns + (interval + 1) * parameters.interval_ns
        low, high = np.searchsorted(times, [end - parameters.mad * parameters.interval_ns, end], side="left")
        return responsiveness_of(probes[int(low) : int(high)], parameters)

    series = [at(interval) for interval in range(first, count)]
    stable = first_stable([one.rpm for one in series], parameters)
    last = count - 1 if stable is None else first + stable
    return Assessment(
        version=parameters.version,
        intervals=count,
        goodput_stable_at=saturated,
        goodput_confidence=confidence(first, saturated is not None, parameters),
        responsiveness_stable_at=None if stable is None else last,
        responsiveness_confidence=confidence(len(series), stable is not None, parameters),
        result=at(last),
    )
