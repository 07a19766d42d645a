"""Throughput by rate and qdisc as the speed test reported it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from narrows.figures.by_rate import also, by_rate
from narrows.figures.drawing import Result
from narrows.metrics.statistics.arrays import Floats
from narrows.runs import loaded
from narrows.runs.observed import Observed

_POINT = "One point is one run; a box (median, quartiles, whiskers 5 to 95 %) is drawn from five runs on."


def _mbps(run: Observed, direction: str) -> Floats:
    rate = loaded.goodput_bps(run, direction)
    return np.array([] if rate is None else [rate / 1e6])


def throughput_by_rate(runs: Sequence[Observed], name: str, title: str, conditions: str = "") -> Result:
    """Throughput in Mbit/s with the configured rate marked."""
    return by_rate(
        runs,
        name=name,
        title=title,
        what=f"Throughput that {loaded.names(runs)} itself reported (TCP payload)"
        f"{also(conditions)}. {_POINT} The red line is the "
        "configured rate, which counts Ethernet and IP headers: full packets can carry 95.6 % of it as "
        "payload.",
        y_label="throughput [Mbit/s]",
        values_of=_mbps,
        mark_of=lambda run, direction: run.rate_bps(direction) / 1e6,
        mark_label="configured rate",
    )
