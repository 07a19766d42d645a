"""Distributions of a property over sessions, by group: the data of Figs. 5.1 to 5.15 of Philip 2025."""

from collections.abc import Sequence

import polars as pl

from narrows.errors import UsageError, did_you_mean
from narrows.metrics.statistics.ecdf import ecdf

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
LEAST = 20
"""A group with fewer sessions has no distribution."""


def cdf(sessions: pl.DataFrame, of: str, by: Sequence[str] = (), *, least: int = LEAST) -> pl.DataFrame:
    """The empirical CDF of the column `of` in each group of the columns `by`.

    Rows: the columns `by`, `sessions` (how many have a value), `value`, and `share` (of sessions at or below
    it), by group and value. Sessions whose value or group is NULL are left out, and so are groups with fewer
    than `least`.
    """
    rows = []
    for key, values in _groups(sessions, of, by, least):
        curve = ecdf(values.to_numpy())
        if curve is not None:
            rows += [(*key, len(values), float(x), float(share)) for x, share in zip(*curve, strict=True)]
    schema = {name: sessions.schema[name] for name in by}
    return pl.DataFrame(
        rows, schema={**schema, "sessions": pl.Int64, "value": pl.Float64, "share": pl.Float64}, orient="row"
    )


def percentiles(
    sessions: pl.DataFrame, of: str, by: Sequence[str] = (), *, least: int = LEAST
) -> pl.DataFrame:
    """One row a group: how many sessions have a value, and its 10th to 90th percentiles (nearest rank)."""
    names = [f"p{round(share * 100)}" for share in SHARES]
    rows = [
        (*key, len(values), *(values.quantile(share, "nearest") for share in SHARES))
        for key, values in _groups(sessions, of, by, least)
    ]
    schema = {name: sessions.schema[name] for name in by}
    return pl.DataFrame(
        rows, schema={**schema, "sessions": pl.Int64, **dict.fromkeys(names, pl.Float64)}, orient="row"
    )


def _groups(
    sessions: pl.DataFrame, of: str, by: Sequence[str], least: int
) -> list[tuple[tuple[object, ...], pl.Series]]:
    for name in (of, *by):
        if name not in sessions.columns:
            raise UsageError(f"sessions have no column {name}", remedy=did_you_mean(name, sessions.columns))
    if not sessions.schema[of].is_numeric():
        raise UsageError(f"{of} is no number, so it has no distribution")
    known = sessions.select(*by, pl.col(of)).drop_nulls()
    if not by:
        return [((), known[of])] if known.height >= least else []
    grouped = [(key, part[of]) for key, part in known.group_by(list(by)) if part.height >= least]
    return sorted(grouped, key=lambda item: tuple(str(value) for value in item[0]))
