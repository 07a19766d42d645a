"""R6: with burst shaping and cross traffic, latency rises clearly, to 7 to 8 ms at 900 Mbit/s, by AQM."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.metrics.statistics.tail import pooled_bin_quantile
from narrows.runs.observed import DIRECTIONS, Observed
from narrows.studies.aqm.claims.evidence import by, median_rtts_ms, tails
from narrows.studies.aqm.claims.under_cross import loaded_and_calm, verdict
from narrows.judging.verdict import Claim, Number, Verdict, median_of, not_measured, yes_of

MIN_RISE_MS = 1  # clearly: median RTT of the test with cross traffic minus without
PAPER_LOW_MS = 6
PAPER_HIGH_MS = 9  # "about 7 to 8 ms"
MIN_SPREAD_BETWEEN_QUEUES = 1.5  # differing by AQM: highest over lowest median

CLAIM = Claim(
    "R6",
    "With burst shaping and cross traffic, latency rises clearly, to about 7 to 8 ms at 900 Mbit/s, "
    "differing by AQM",
    "Figure 6",
    "r06_latency_under_cross_traffic.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """RTT of the test in the direction of the cross flow, with it and without it."""
    loaded, calm = loaded_and_calm(runs, "off", "text", "listing")
    numbers: list[Number] = []
    rises: dict[str, bool] = {}
    levels: dict[str, bool] = {}
    differ: dict[str, bool] = {}
    for (burst, cross), some in by(loaded, "burst", "cross").items():
        direction, medians = str(cross), []
        for (queue,), same in by(some, "queue").items():
            base = by(calm, "burst", "queue")
            idle = base.get((burst, queue)) or base.get(("off", queue)) or []
            words = f"900 Mbit/s, {queue}, burst {burst}, {direction}load"
            now = median_of(
                "RTT of the test", "ms", median_rtts_ms(same, direction), f"{words}, cross {cross}"
            )
            before = median_of("RTT of the test", "ms", median_rtts_ms(idle, direction), f"{words}, no cross")
            if now is None or before is None:
                continue
            numbers += [now, before]
            name = f"{queue} ({burst}, {cross})"
            rises[name] = now.value - before.value >= MIN_RISE_MS
            levels[name] = PAPER_LOW_MS <= now.value <= PAPER_HIGH_MS
            medians.append(now.value)
        if len(medians) > 1:
            differ[f"{burst}, {cross}"] = max(medians) >= MIN_SPREAD_BETWEEN_QUEUES * min(medians)
    if not rises:
        return not_measured(CLAIM, "no runs at 900 Mbit/s with burst shaping, with and without cross traffic")
    reason = (
        f"rises by at least {MIN_RISE_MS} ms for {yes_of(rises)}; "
        f"is {PAPER_LOW_MS} to {PAPER_HIGH_MS} ms for {yes_of(levels)}; "
        f"differs by AQM {MIN_SPREAD_BETWEEN_QUEUES}-fold for {yes_of(differ)}"
    )
    return verdict(CLAIM, (rises, levels, differ), reason, numbers, [*loaded, *calm], _cause(loaded))


def _cause(loaded: list[Observed]) -> str:
    """How much of the RTT stood in each queue."""
    stood = []
    for (queue,), same in by(loaded, "queue").items():
        p99 = pooled_bin_quantile(tails(same, "sojourn_ms", *DIRECTIONS), 0.99)
        if p99 is not None and np.isfinite(p99):
            stood.append(f"{queue} {p99:.3g} ms")
    return f"p99 of the sojourn time, all packets: {', '.join(stood)}." if stood else ""
