"""Made-up trials of services: a plan of the study's kind, and what the tap is said to have seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import lab
from labels import said
from narrows.plan.model import Plan
from narrows.runs.observed import EMPTY, Observed, QueueTruth, Series
from narrows.runs.quantities import Measured
from narrows.runs.settled import foreground

S = 1_000_000_000
BIN = 10_000_000
LENGTH_S = 10
HEAD = (
    'link = Link(rate="{rate} Mbit/s", base_rtt="50 ms", queue=pfifo(limit=128), services=2)\n'
    'a, b = pairs({{"x": bulk(cca="bbr", stop="{length} s", start_jitter="0 s"),'
    ' "y": bulk(cca="reno", stop="{length} s", start_jitter="0 s")}})\n'
)


def plans(directory: Path, rate: int = 8) -> dict[str, Plan]:
    """The plans of x and y, by pair."""
    found = lab.plans(directory, HEAD.format(rate=rate, length=LENGTH_S))
    return {plan.key["pair"]: plan for plan in found}


def trial(
    plan: Plan,
    key: Mapping[str, str],
    rates_mbps: Sequence[float],
    *,
    settled_only: bool = False,
    figures: Mapping[tuple[str, str | None, str], float] | None = None,
    **more: Any,
) -> Observed:
    """A run whose services had these rates throughout, or (`settled_only`) in its middle alone."""
    items = [item.id for item in foreground(plan)]
    times = np.arange(LENGTH_S * S // BIN) * BIN
    middle = (times >= 2 * S) & (times < 8 * S)
    series = {}
    for item, rate in zip(items, rates_mbps, strict=True):
        values = np.where(middle | (not settled_only), rate * 1e6, 99e6)
        series[item] = Series(times.astype(np.float64), values)
    truth = QueueTruth(
        hop="bottleneck", direction="down", throughput_bps=series, sojourn_ms=np.empty(0),
        sojourn_packets=np.empty(0), sojourn_p50_ms=EMPTY, sojourn_p99_ms=EMPTY, drops=EMPTY,
        departed_packets=None,
        dropped_packets=None, marked_packets=None, **more,
    )  # fmt: skip
    name = " ".join(f"{k}={v}" for k, v in key.items())
    run = Observed(
        name, "made_up", "?", key, "ok", None, plan, queues={"down": truth}, figures=said(figures or {})
    )
    return _with_quantities(run)


def _with_quantities(run: Observed) -> Observed:
    import dataclasses

    return dataclasses.replace(run, read_quantities=lambda: Measured(run))
