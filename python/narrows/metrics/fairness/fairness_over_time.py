"""Jain's index and the shares of the CCAs over time, from the flows' counters.

Definition: per window, what each flow delivered in it, and Jain's index of these amounts
(`narrows.metrics.fairness.jain`). A flow without a row in a window delivered nothing in it: it counts as 0
and lowers the index; leaving it out would call a link fair on which all but two flows starve. The number of
flows is therefore that of the whole table, unless given. A short window reads as less fair than a long one:
name the window. A CCA's share of a window is what its flows delivered in it over what all did.

Unit: none (share of 1) per window.
"""

import polars as pl


def delivered_per_window(counters: pl.DataFrame, window_ns: int) -> pl.DataFrame:
    """From cumulative counters (t_ns, flow, bytes) what each flow delivered per window: t_ns, flow, value.

    A window is [k x window, (k+1) x window) and takes the increases whose later sample falls into it; the
    first sample of a flow has no increase. A counter that goes back is an error.
    """
    if window_ns <= 0:
        raise ValueError(f"window {window_ns} ns: it must be above zero")
    steps = (
        counters.with_columns(_present("bytes"))
        .drop_nulls(["t_ns", "flow", "bytes"])
        .sort("flow", "t_ns", maintain_order=True)
        .with_columns(pl.col("bytes").diff().over("flow").alias("value"))
        .drop_nulls("value")
    )
    if steps.height and float(steps["value"].min()) < 0:  # type: ignore[arg-type]
        raise ValueError("a flow's counter of delivered bytes goes back; counters of two flows share a name")
    window = pl.col("t_ns") // window_ns * window_ns
    return steps.group_by(window, pl.col("flow")).agg(pl.col("value").sum()).sort("t_ns", "flow")


def jain_over_time(delivered: pl.DataFrame, flows: int | None = None) -> pl.DataFrame:
    """t_ns and jain (null where nothing was delivered) from rows t_ns, flow, value."""
    rows = delivered.with_columns(_present("value")).drop_nulls(["t_ns", "flow", "value"])
    if rows["value"].is_infinite().any():
        raise ValueError("an allocation is infinite: that is not a measurement")
    seen = int(rows["flow"].n_unique())
    n = seen if flows is None else flows
    if n < seen:
        raise ValueError(f"{seen} flows in the table but flows={n}")
    if rows.height and float(rows["value"].min()) < 0:  # type: ignore[arg-type]
        raise ValueError("an allocation is below zero")
    value = pl.col("value")
    squares = (value * value).sum()
    return (
        rows.group_by("t_ns")
        .agg(pl.when(squares > 0).then(value.sum() ** 2 / (squares * n)).alias("jain"))
        .sort("t_ns")
    )


def shares_over_time(delivered: pl.DataFrame, ccas: pl.DataFrame) -> pl.DataFrame:
    """t_ns, cca and share from rows t_ns, flow, value and the cca of every flow; of a window in which nothing
    was delivered there are no rows, a CCA that delivered nothing has a share of 0."""
    rows = delivered.with_columns(_present("value")).drop_nulls(["t_ns", "flow", "value"])
    windows = rows.group_by("t_ns").agg(pl.col("value").sum().alias("all")).filter(pl.col("all") > 0)
    own = rows.join(ccas, on="flow").group_by("t_ns", "cca").agg(pl.col("value").sum())
    return (
        windows.join(ccas.select("cca").unique(), how="cross")
        .join(own, on=["t_ns", "cca"], how="left")
        .select("t_ns", "cca", (pl.col("value").fill_null(0.0) / pl.col("all")).alias("share"))
        .sort("t_ns", "cca")
    )


def _present(column: str) -> pl.Expr:
    """As a float; what is not a number is missing."""
    return pl.col(column).cast(pl.Float64).fill_nan(None)
