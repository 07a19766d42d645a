"""Shares of what was delivered, by congestion control algorithm or any other label.

Definition: what the flows of a label delivered over what all delivered. `fair_share` is the label's number
of flows over that of all; the ratio of the two says how many fair shares a flow of the label took on
average. A flow whose amount is missing is an error: leaving it out would move all other shares.

Unit: none (share of 1).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from narrows.metrics.statistics.arrays import Values, raw


@dataclass(frozen=True)
class Share:
    """One label's part."""

    share: float
    fair_share: float
    flows: int


def shares(labels: Iterable[str], delivered: Values) -> dict[str, Share] | None:
    """Share of each label, in order of name; None with fewer than two flows or if nothing was delivered."""
    amount = raw(delivered)
    frame = pl.DataFrame({"label": pl.Series(list(labels), dtype=pl.String)})
    if frame.height != amount.size:
        raise ValueError(f"{frame.height} labels but {amount.size} amounts; each flow needs both")
    frame = frame.with_columns(pl.Series("amount", amount))
    if missing := int(frame["amount"].is_nan().sum()):
        raise ValueError(f"{missing} of {amount.size} flows have no amount; a flow that got nothing has 0")
    if (amount < 0).any():
        raise ValueError("an amount is below zero")
    total = float(amount.sum())
    if amount.size < 2 or total == 0.0:
        return None
    grouped = frame.group_by("label").agg(pl.col("amount").sum(), pl.len().alias("flows")).sort("label")
    return {
        str(label): Share(float(part) / total, int(flows) / amount.size, int(flows))
        for label, part, flows in grouped.iter_rows()
    }
