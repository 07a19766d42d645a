"""Chooses points where a function changes most, by `adaptive` (its Learner1D and LearnerND).

The learner triangulates what is known and divides the piece with the largest loss: here its curvature, so
pieces where the slope changes come first, with a share for mere size, so that large ones are not forgotten.
Pieces shorter than `RESOLUTION` are left alone, because repetitions differ more than what is left to find
there. Nothing is run here.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from adaptive import Learner1D, LearnerND
from adaptive.learner.learner1D import curvature_loss_function as curvature_1d
from adaptive.learner.learner1D import uses_nth_neighbors as uses_neighbours_1d
from adaptive.learner.learnerND import curvature_loss_function as curvature_nd
from adaptive.learner.learnerND import uses_nth_neighbors as uses_neighbours_nd
from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator

from narrows.search.space import Place

RESOLUTION = 0.01
"""The shortest piece that is divided, as a part of each axis."""
_curvature_1d, _curvature_nd = curvature_1d(), curvature_nd()


@uses_neighbours_1d(1)  # type: ignore[untyped-decorator]
def _loss_1d(xs: Any, ys: Any) -> float:
    return 0.0 if abs(xs[2] - xs[1]) < RESOLUTION else float(_curvature_1d(xs, ys))


@uses_neighbours_nd(1)  # type: ignore[untyped-decorator]
def _loss_nd(simplex: Any, values: Any, scale: Any, neighbours: Any, their_values: Any) -> float:
    corners = np.asarray(simplex, dtype=float)
    longest = max(float(np.ptp(corners[:, axis])) for axis in range(corners.shape[1]))
    return (
        0.0
        if longest < RESOLUTION
        else float(_curvature_nd(simplex, values, scale, neighbours, their_values))
    )


class Chooser:
    """A search in the unit cube. Values are numbers, one or several a point."""

    def __init__(self, axes: int) -> None:
        self.axes = axes
        bounds = [(0.0, 1.0)] * axes
        self._learner: Any = (
            Learner1D(None, bounds[0], loss_per_interval=_loss_1d)
            if axes == 1
            else LearnerND(None, bounds, loss_per_simplex=_loss_nd)
        )

    def ask(self, number: int) -> list[Place]:
        """The next points, in the order of what they promise. They count as on their way."""
        points, _ = self._learner.ask(number)
        return [(float(point),) if self.axes == 1 else tuple(map(float, point)) for point in points]

    def tell(self, place: Place, values: Sequence[float]) -> None:
        """What was found at a point."""
        value = float(values[0]) if len(values) == 1 else np.array(values, dtype=float)
        self._learner.tell(place[0] if self.axes == 1 else place, value)


class Surface:
    """Values between points, by linear interpolation over a triangulation."""

    def __init__(self, places: Sequence[Place], values: Sequence[float]) -> None:
        """Needs more points than axes, the cube's corners among them, or else answers by the nearest."""
        self._x, self._y = np.array(places, dtype=float), np.array(values, dtype=float)

    def at(self, places: Sequence[Place]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The values at some places."""
        wanted = np.array(places, dtype=float)
        if self._x.shape[1] == 1:
            order = np.argsort(self._x[:, 0], kind="stable")
            curve = np.interp(wanted[:, 0], self._x[order, 0], self._y[order])
            return np.asarray(curve, dtype=float)
        nearest = np.asarray(NearestNDInterpolator(self._x, self._y)(wanted), dtype=float)
        if len(self._x) <= self._x.shape[1] + 1:
            return nearest
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            linear = np.asarray(LinearNDInterpolator(self._x, self._y)(wanted), dtype=float)
        return np.where(np.isnan(linear), nearest, linear)
