"""Glitches per minute on an isochronous probe. There is no standard for this metric; this is our definition.

Definition: the baseline is the running median of the received round-trip times over a centred window of 1
s. A glitch is a maximal run of consecutive probes that are each at least 20 ms above the baseline at that
probe, or lost. Runs separated by fewer than `merge_gap` good probes are one glitch (default 1: none are
merged). The rate is glitches over the observed time, which is probes sent x interval.

The running median follows slow changes (a standing queue that builds and stays is not a glitch, it is
working latency) and ignores excursions shorter than half its window; an excursion longer than 0.5 s is
therefore counted by its two edges at most once each, and this metric must be read beside p99 and the
maximum.

With `lost_counts` false only excursions of delay count: a full queue of a few packets loses probes without
delaying any by 20 ms, which is not a spike of latency.

Unit: 1/min. Source: the idea is Dave Taht's "glitches per minute" (blog.cerowrt.org, 2023), who gives no
formula; 20 ms is one common audio packet time.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from narrows.metrics.statistics.arrays import Floats, Values, raw
from narrows.units import MS_PER_MINUTE

BooleanArray = NDArray[np.bool_]
THRESHOLD_MS = 20.0
WINDOW_MS = 1000.0
MIN_RECEIVED = 2


@dataclass(frozen=True)
class Glitches:
    """What was found, and over how long. The rate is None where fewer than two probes came back: without
    a baseline nothing stands out from it, and an outage is told by the loss."""

    count: int
    lost: int
    probes: int
    observed_ms: float

    @property
    def per_minute(self) -> float | None:
        """Glitches per minute of observation."""
        if self.probes - self.lost < MIN_RECEIVED:
            return None
        return self.count * MS_PER_MINUTE / self.observed_ms


def glitches(
    rtt_ms: Values,
    interval_ms: float,
    threshold_ms: float = THRESHOLD_MS,
    window_ms: float = WINDOW_MS,
    merge_gap: int = 1,
    lost_counts: bool = True,
) -> Glitches:
    """Count glitches in the probes in the order they were sent; None (or NaN) is a lost probe."""
    if interval_ms <= 0:
        raise ValueError(f"probe interval {interval_ms} ms: it must be above zero")
    rtt = raw(rtt_ms)
    lost = np.isnan(rtt)
    if rtt.size == 0 or lost.all():
        return Glitches(
            1 if rtt.size and lost_counts else 0, int(lost.sum()), int(rtt.size), rtt.size * interval_ms
        )
    half = max(1, round(window_ms / interval_ms / 2))
    index = np.arange(rtt.size)
    filled = (
        np.interp(index, index[~lost], rtt[~lost]) if lost.any() else rtt
    )  # a baseline exists also where probes were lost
    bad = _above_median(filled, half, threshold_ms)
    if lost_counts:
        bad |= lost
    starts = np.flatnonzero(bad & ~np.concatenate(([False], bad[:-1])))
    ends = np.flatnonzero(bad & ~np.concatenate((bad[1:], [False])))
    gaps = starts[1:] - ends[:-1] - 1
    count = int(starts.size - np.count_nonzero(gaps < merge_gap))
    return Glitches(count, int(lost.sum()), int(rtt.size), rtt.size * interval_ms)


def _above_median(x: Floats, half: int, threshold: float) -> BooleanArray:
    """Where a value is at least so far above the median of the `half` values before and behind it and itself.

    The median is worked out only where it can matter: a value of a block that is that far above it is as far
    above the smallest value of the blocks around.
    """
    starts = np.arange(0, x.size, half)
    low, high = np.minimum.reduceat(x, starts), np.maximum.reduceat(x, starts)
    edges = np.pad(low, 1, mode="edge")
    least = np.minimum(np.minimum(edges[:-2], edges[2:]), low)
    possible = np.flatnonzero(
        np.diff(np.concatenate(([False], high - least >= threshold, [False])).astype(np.int8))
    )
    above = np.zeros(x.size, dtype=np.bool_)
    for first, end in possible.reshape(-1, 2):
        begin, stop = int(first) * half, min(int(end) * half, x.size)
        around = slice(max(0, begin - half), min(stop + half, x.size))
        from scipy.ndimage import median_filter  # slow to import, and few probes have candidates

        median = median_filter(x[around], size=2 * half + 1, mode="nearest")
        above[begin:stop] = x[begin:stop] - median[begin - around.start :][: stop - begin] >= threshold
    return above
