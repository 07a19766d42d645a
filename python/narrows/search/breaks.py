"""Where a surface breaks: neighbours between which a metric changes far more than it does on average."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.spatial import Delaunay, QhullError

from narrows.search.space import Place

STEEP = 3.0
"""A break is so many times as steep as a surface that crosses its whole range evenly along one axis."""
LEAST_CHANGE = 0.1
"""And at least so much of the range, so that noise between close neighbours is none."""
MOST = 5


@dataclass(frozen=True)
class Break:
    """Two neighbours by their index; `change` as a part of the range, `steepness` against an even surface."""

    first: int
    second: int
    change: float
    steepness: float


def breaks(places: Sequence[Place], values: Sequence[float]) -> list[Break]:
    """The steepest pairs of neighbours, each point in one at most; none of a flat surface."""
    x, y = np.array(places, dtype=float), np.array(values, dtype=float)
    span = float(np.ptp(y)) if len(y) else 0.0
    if not span:
        return []
    found = []
    for a, b in sorted(_neighbours(x)):
        change = abs(float(y[a] - y[b])) / span
        distance = float(np.linalg.norm(x[a] - x[b]))
        if distance and change >= LEAST_CHANGE and change / distance >= STEEP:
            low, high = (a, b) if y[a] <= y[b] else (b, a)
            found.append(Break(low, high, change, change / distance))
    found.sort(key=lambda one: (-one.change * min(one.steepness, 100.0), one.first, one.second))
    kept: list[Break] = []
    used: set[int] = set()
    for one in found:
        if not {one.first, one.second} & used:
            kept.append(one)
            used |= {one.first, one.second}
    return kept[:MOST]


def _neighbours(x: np.ndarray) -> set[tuple[int, int]]:
    if x.shape[1] == 1:
        order = np.argsort(x[:, 0], kind="stable")
        return {(int(a), int(b)) for a, b in pairwise(order)}
    try:
        simplices = Delaunay(x).simplices
    except (QhullError, ValueError):
        return set()
    return {
        (min(int(a), int(b)), max(int(a), int(b)))
        for s in simplices
        for a in s
        for b in s
        if int(a) != int(b)
    }
