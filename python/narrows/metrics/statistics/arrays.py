"""Turns what a caller has (lists, NumPy arrays, Polars series) into one clean array of floats.

Missing values (None, NaN) are dropped here and nowhere else; they never become zero. Infinite values are
refused, because no stored measurement can be one.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Values = pl.Series | NDArray[np.float64] | NDArray[np.int64] | Iterable[float | int | None]


def raw(values: Values) -> Floats:
    """The values as float64 in their places; a missing one is NaN."""
    if isinstance(values, pl.Series):
        array = np.asarray(values.cast(pl.Float64).to_numpy(), dtype=np.float64)
    elif isinstance(values, np.ndarray):
        array = values.astype(np.float64, copy=False)
    else:
        array = np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
    if not all_finite(array) and np.isinf(array).any():
        raise ValueError("an infinite value is not a measurement; look at the run that produced it")
    return array


def clean(values: Values) -> Floats:
    """The values that are present, as float64, in their order; perhaps the same array: do not write it."""
    array = raw(values)
    return array if all_finite(array) else array[~np.isnan(array)]


def all_finite(x: Floats) -> bool:
    """Whether no value is missing or infinite, in one pass: a sum keeps both (an overflow is False)."""
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isfinite(x.sum()))


def ascends(x: Floats | NDArray[np.int64]) -> bool:
    """Whether the values are in order already, so that order statistics stand in their places."""
    return x.size < 2 or bool(x[0] <= x[-1] and (x[1:] >= x[:-1]).all())


def partitioned(x: Floats, *places: int) -> Floats:
    """With those order statistics in their places, smaller values before and larger ones behind."""
    return x if ascends(x) else np.partition(x, places)


def quantiles(x: Floats, shares: Sequence[float], above: float = 0.0) -> Floats:
    """Quantiles of the values less `above` (Hyndman and Fan's type 7, NumPy's); at once where they ascend."""
    if x.size > 1 and ascends(x):
        place = np.asarray(shares, dtype=np.float64) * (x.size - 1)
        low = np.floor(place).astype(np.int64)
        high = np.minimum(low + 1, x.size - 1)
        under, over = x[low] - above, x[high] - above
        found: Floats = under + (over - under) * (place - low)
        return found
    return np.asarray(np.quantile(x - above if above else x, shares), dtype=np.float64)
