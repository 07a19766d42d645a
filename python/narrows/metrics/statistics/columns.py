"""Prepares columns whose rows belong together or whose order matters, for the metrics that need that.

`narrows.metrics.statistics.arrays.clean` drops missing values of one column; here a row is dropped when any
of its columns is missing, and columns that must ascend are refused when they do not: sorting them silently
would hide a caller that paired the wrong values. Values are never invented.
"""

import numpy as np
from numpy.typing import NDArray

from narrows.metrics.statistics.arrays import Floats, Values, all_finite, clean, raw


def aligned(**columns: Values) -> list[Floats]:
    """The columns without the rows in which any of them is missing."""
    arrays = {name: raw(values) for name, values in columns.items()}
    sizes = {name: int(array.size) for name, array in arrays.items()}
    if len(set(sizes.values())) > 1:
        listing = ", ".join(f"{size} {name}" for name, size in sizes.items())
        raise ValueError(f"{listing}: each row needs all of them")
    if all(all_finite(array) for array in arrays.values()):
        return list(arrays.values())
    present = ~np.any([np.isnan(array) for array in arrays.values()], axis=0)
    return [array[present] for array in arrays.values()]


def ascending(times: Floats, what: str) -> Floats:
    """The times, or a ValueError naming the first that is earlier than the one before it."""
    back = times[1:] < times[:-1]
    if back.any():
        row = int(np.argmax(back)) + 1
        raise ValueError(
            f"{what}: row {row} ({times[row]:.0f}) is earlier than row {row - 1} ({times[row - 1]:.0f}); "
            "sort the rows together with all their columns"
        )
    return times


def sample(values: Values, at_least: int = 2) -> Floats | None:
    """The values that are present, or None where they are too few for a number."""
    x = clean(values)
    return x if x.size >= at_least else None


def first_of_each(times: Floats, start: float, every: float) -> NDArray[np.int64]:
    """Where the first of the ascending times in each [start + k every, start + (k + 1) every) stands."""
    if times.size == 0:
        return np.zeros(0, dtype=np.int64)
    count = int((times[-1] - start) // every) + 1
    if count > times.size:  # more intervals than times: look at the times
        index = (times - start) // every
        return np.flatnonzero(np.concatenate(([True], index[1:] > index[:-1])))
    first = np.searchsorted(times, start + np.arange(count) * every, side="left")
    return np.asarray(np.unique(first), dtype=np.int64)
