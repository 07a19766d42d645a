"""How good is what a search found? Its surface and that of as large a grid, against points of neither."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from narrows.search.chooser import Surface
from narrows.search.search import Make, Search
from narrows.search.space import Place


@dataclass(frozen=True)
class Errors:
    """Errors of one surface at the checked points, as parts of the metric's range over them."""

    points: int
    mean: float
    largest: float


@dataclass(frozen=True)
class Checked:
    """One metric: the search's errors, the grid's, and at how many points they were looked at."""

    search: Errors
    grid: Errors
    at: int


def grid(axes: int, budget: int) -> list[Place]:
    """An even grid of at most so many points, with the corners."""
    side = max(2, int(budget ** (1 / axes) + 1e-9))
    line = np.linspace(0.0, 1.0, side)
    return [
        tuple(float(part) for part in place)
        for place in np.array(np.meshgrid(*[line] * axes)).reshape(axes, -1).T
    ]


def scattered(axes: int, number: int) -> list[Place]:
    """Points that fill the space evenly and lie on no grid: Halton's sequence, without its first."""
    rows = qmc.Halton(d=axes, scramble=False).random(number + 1)[1:]
    return [tuple(float(part) for part in row) for row in rows]


def check(search: Search, number: int, make: Make) -> list[Checked]:
    """Have the grid and the checked points run, and compare; one a metric. Points without a value count for
    neither."""
    axes = len(search.dimensions)

    def near(places: Sequence[Place]) -> list[Place]:
        """What can be run: rounded as a search's points are."""
        rounded = (
            tuple(d.nearest(part) for d, part in zip(search.dimensions, place, strict=True))
            for place in places
        )
        return list(dict.fromkeys(rounded))

    even = search.measure(near(grid(axes, len(search.points))), make)
    truth = search.measure(near(scattered(axes, number)), make)
    checked = []
    for metric in range(len(search.metrics)):
        at = [(p.place, v) for p in truth if (v := p.values[metric]) is not None]
        grid_known = [(p.place, v) for p in even if (v := p.values[metric]) is not None]
        places, values = [place for place, _ in at], np.array([v for _, v in at])
        span = float(np.ptp(values)) or 1.0
        surfaces = (
            (len(search.points), search.surface(metric)),
            (len(grid_known), Surface([p for p, _ in grid_known], [v for _, v in grid_known])),
        )
        errors = []
        for points, surface in surfaces:
            off = np.abs(surface.at(places) - values) / span
            errors.append(Errors(points, float(off.mean()), float(off.max())))
        checked.append(Checked(errors[0], errors[1], len(at)))
    return checked
