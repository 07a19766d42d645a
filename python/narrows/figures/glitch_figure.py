"""Glitches per minute by rate and qdisc, on the isochronous probe (no standard exists; see
narrows.metrics.latency.glitches)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from narrows.figures.by_rate import also, by_rate
from narrows.figures.drawing import Result
from narrows.metrics.latency.glitches import THRESHOLD_MS, WINDOW_MS
from narrows.metrics.statistics.arrays import Floats
from narrows.runs import loaded
from narrows.runs.observed import Observed


def _per_minute(run: Observed, direction: str) -> Floats:
    found = loaded.probe_glitches(run, direction)
    rate = None if found is None else found.per_minute
    return np.array([] if rate is None else [rate])


def glitches_by_rate(runs: Sequence[Observed], name: str, title: str, conditions: str = "") -> Result:
    """One point per run."""
    return by_rate(
        runs,
        name=name,
        title=title,
        what=f"Glitches per minute of the isochronous probe while {loaded.names(runs)} ran"
        f"{also(conditions)}: "
        f"excursions of at "
        f"least {THRESHOLD_MS:g} ms above the probe's running median over {WINDOW_MS / 1000:g} s, or lost "
        f"probes. There "
        "is no standard for this metric. One point is one run; a box is drawn from five runs on.",
        y_label="glitches [1/min]",
        values_of=_per_minute,
    )
