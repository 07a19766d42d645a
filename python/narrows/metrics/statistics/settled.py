"""Whether, and when, a metric had settled: it moved less than a tolerance over a window.

Definition: at time t the metric is settled if over [t - window, t] its largest and smallest values differ
by less than tolerance (1 %) times the magnitude of the value at t, and the record reaches back that far. A
missing value inside the window means not settled.

Unit: that of the times. Source: the stopping condition of the thesis behind CoreScale ("until the metric
moves less than 1 % in 20 minutes").
"""

import numpy as np
import polars as pl

from narrows.metrics.statistics.arrays import Values, raw
from narrows.metrics.statistics.columns import ascending

TOLERANCE = 0.01


def settled_at(t_ns: Values, values: Values, window_ns: int, tolerance: float = TOLERANCE) -> int | None:
    """The first time at which the metric is settled; None if it never is."""
    if window_ns <= 0:
        raise ValueError(f"window {window_ns} ns: it must be above zero")
    times, x = raw(t_ns), raw(values)
    if times.size != x.size:
        raise ValueError(f"{times.size} times but {x.size} values; each row needs both")
    times, x = times[~np.isnan(times)], x[~np.isnan(times)]
    if times.size < 2:
        return None
    ascending(times, "t_ns")
    frame = pl.DataFrame({"t": times, "x": x}).with_columns(
        pl.col("t").cast(pl.Int64), pl.col("x").fill_nan(None), pl.col("x").is_nan().alias("missing")
    )
    settled = frame.rolling("t", period=f"{window_ns}i", closed="both").agg(
        (pl.col("x").max() - pl.col("x").min()).alias("moved"),
        pl.col("x").last().alias("now"),
        pl.col("missing").any(),
    )
    found = settled.filter(
        (pl.col("t") - int(times[0]) >= window_ns)
        & ~pl.col("missing")
        & (pl.col("moved") < tolerance * pl.col("now").abs())
    )
    return int(found["t"][0]) if found.height else None
