"""A series thinned to what a screen can show: of each stretch of time its mean, least and greatest value.

A series with no more values than two per stretch stays as it is. A stretch without a value has none, and a
lost value (NaN) counts only where its stretch has no other.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from narrows.metrics.statistics.arrays import Floats


@dataclass(frozen=True)
class Thinned:
    """Values over time; `low` and `high` where a value stands for several."""

    t: Floats
    value: Floats
    low: Floats | None = None
    high: Floats | None = None


def thinned(t: Floats, value: Floats, window: tuple[float, float], stretches: int) -> Thinned:
    """The part of an ordered series with window[0] <= t < window[1]; times are the stretches' middles."""
    inside = (t >= window[0]) & (t < window[1])
    t, value = t[inside], value[inside]
    if t.size <= 2 * stretches:
        return Thinned(t, value)
    place, starts = _stretches(t, window, stretches)
    lost = np.isnan(value)
    known = np.add.reduceat(np.where(lost, 0.0, 1.0), starts)
    sums = np.add.reduceat(np.where(lost, 0.0, value), starts)
    mean = np.divide(sums, known, out=np.full(known.size, np.nan), where=known > 0)
    low = np.minimum.reduceat(np.where(lost, np.inf, value), starts)
    high = np.maximum.reduceat(np.where(lost, -np.inf, value), starts)
    empty = known == 0
    low[empty] = high[empty] = np.nan
    return Thinned(place, mean, low, high)


def counted(t: Floats, value: Floats, window: tuple[float, float], stretches: int) -> Thinned:
    """Sums instead of means, for series that count, one for each stretch whatever their number: zero where
    nothing was counted."""
    inside = (t >= window[0]) & (t < window[1])
    edges = np.linspace(window[0], window[1], stretches + 1)
    sums, _ = np.histogram(t[inside], bins=edges, weights=np.nan_to_num(value[inside]))
    return Thinned((edges[:-1] + edges[1:]) / 2, sums.astype(np.float64))


def _stretches(t: Floats, window: tuple[float, float], stretches: int) -> tuple[Floats, NDArray[np.int64]]:
    """Middles of the stretches that have values, and where each begins."""
    wide = (window[1] - window[0]) / stretches
    number = np.minimum(((t - window[0]) / wide).astype(np.int64), stretches - 1)
    present, starts = np.unique(number, return_index=True)
    return window[0] + (present + 0.5) * wide, starts
