"""R1: without burst shaping the link is under-used at high rates, whatever the AQM."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.headers import FULL_FRAME_BYTES
from narrows.metrics.rate.utilisation import largest_goodput_bps
from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.evidence import by, rates_mbps, usable, utilisations, where
from narrows.studies.aqm.claims.htb_model import late_timer_rate_bps
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, median_of, not_measured, worst_of

HIGH_RATE_MBPS = 800
MAX_MBPS = 700  # the claim: no run above it

CLAIM = Claim(
    "R1",
    "Without burst shaping the link is under-used at high rates whatever the AQM: at 800 Mbit/s the "
    "maximum stays under 700",
    "Figure 1",
    "r01_underuse_without_burst.py",
    decided_by=r"highest throughput",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """With exact timers, and with each declared timer latency: does every qdisc stay under 700 Mbit/s?"""
    chosen = where(usable(runs), rate_mbps=HIGH_RATE_MBPS, burst=("off",), cross=("no",), exact_timers=None)
    if not chosen:
        return not_measured(CLAIM, "no run at 800 Mbit/s without burst shaping and cross traffic")
    numbers: list[Number] = []
    passed: dict[str, list[bool]] = {}
    for (timer,), same in by(chosen, "timer").items():
        for direction in ("down", "up"):
            found = rates_mbps(same, direction)
            words = f"800 Mbit/s, timers {timer}, {direction}, all qdiscs"
            for number in (
                worst_of("highest throughput", "Mbit/s", found, words),
                median_of("utilisation", "1", utilisations(same, direction), words),
            ):
                if number is not None:
                    numbers.append(number)
        highest = [
            float(np.max(found))
            for _, of_queue in by(same, "queue").items()
            for direction in ("down", "up")
            if (found := rates_mbps(of_queue, direction)).size
        ]
        passed[str(timer)] = [value < MAX_MBPS for value in highest]
    exact = passed.get("exact", [])
    late = {timer: marks for timer, marks in passed.items() if timer != "exact"}
    full = [timer for timer, marks in late.items() if all(marks)]
    reason = "; ".join(
        f"timers {timer}: {sum(marks)} of {len(marks)} qdiscs and directions stay under {MAX_MBPS} Mbit/s"
        for timer, marks in passed.items()
    )
    if exact and all(exact):
        verdict = graded(exact)
    elif full or any(any(marks) for marks in passed.values()):
        verdict = "holds in part"
    else:
        verdict = "does not hold here"
    return Verdict(
        CLAIM,
        verdict,
        reason,
        tuple(numbers),
        "no burst shaping, no cross traffic",
        ids(chosen),
        _cause(chosen),
    )


def _cause(chosen: list[Observed]) -> str:
    """What the model of a late timer gives for the spans of the runs."""
    parts = []
    spans = {(t.min_ns, t.max_ns) for r in chosen if (t := r.plan.machine.timer_latency) is not None}
    share = largest_goodput_bps(1.0) * 1.0
    for low, high in sorted(spans):
        rate = late_timer_rate_bps(HIGH_RATE_MBPS * 1e6, 1600, low / 1e9, high / 1e9) * share / 1e6
        parts.append(
            f"The bucket alone, with timers {low / 1e3:g} to {high / 1e3:g} µs late and "
            f"{FULL_FRAME_BYTES}-byte frames, gives at least {rate:.0f} Mbit/s of payload."
        )
    return " ".join(parts)
