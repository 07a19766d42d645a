"""R10: added base latency shifts latency by a constant and leaves throughput and latency under load alone."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.metrics.statistics.tail import pooled_quantile
from narrows.runs.observed import Observed
from narrows.runs.quantities import IDLE
from narrows.studies.aqm.claims.evidence import by, rates_mbps, tails, usable, where
from narrows.judging.verdict import Claim, Number, Verdict, comparisons, graded, ids, median_of, not_measured

MAX_SHIFT_ERROR_MS = 0.5  # idle latency minus (idle latency at the smallest base RTT + added)
MAX_THROUGHPUT_CHANGE = 0.05  # of the throughput at the smallest base RTT
MAX_WORKING_LATENCY_CHANGE_MS = 1  # of the probe's latency under load minus idle

CLAIM = Claim(
    "R10",
    "Added base latency shifts latency by a constant and leaves throughput and relative latency under load "
    "alone",
    "section 3",
    "r10_base_latency_is_an_offset.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Each added latency against the smallest base RTT, under otherwise equal conditions."""
    chosen = where(usable(runs), small_rtt=False)
    numbers: list[Number] = []
    shift: dict[str, bool] = {}
    rate: dict[str, bool] = {}
    load: dict[str, bool] = {}
    used: list[Observed] = []
    for (mbps, queue, burst, cross), same in by(chosen, "rate_mbps", "queue", "burst", "cross").items():
        by_rtt = by(same, "base_rtt_ms")
        if len(by_rtt) < 2:
            continue
        (first,) = next(iter(by_rtt))
        base = by_rtt[(first,)]
        for (rtt,), there in list(by_rtt.items())[1:]:
            added = float(rtt) - float(first)
            used += [*base, *there]
            words = f"{mbps:g} Mbit/s, {queue}, burst {burst}, cross {cross}, +{added:g} ms"
            idle, idle_base = (tails(x, "probe_rtt_ms", IDLE) for x in (there, base))
            now_ms, before_ms = (pooled_quantile(x, 0.5) for x in (idle, idle_base))
            if now_ms is not None and before_ms is not None:
                off = now_ms - before_ms - added
                probes = int(sum(tail.total for tail in idle))
                numbers.append(Number("idle RTT of the probe beyond base + added", "ms", off, probes, words))
                shift[words] = abs(off) <= MAX_SHIFT_ERROR_MS
            for direction in ("down", "up"):
                now, before = rates_mbps(there, direction), rates_mbps(base, direction)
                if now.size and before.size:
                    change = float(np.median(now) / np.median(before)) - 1
                    where_ = f"{words}, {direction}"
                    numbers.append(Number("change of throughput", "%", 100 * change, int(now.size), where_))
                    rate[where_] = abs(change) <= MAX_THROUGHPUT_CHANGE
                    late, late_base = _added(there, direction), _added(base, direction)
                    number = median_of("working latency", "ms", late, where_)
                    if number is not None and late_base:
                        numbers.append(number)
                        moved = float(np.median(late) - np.median(late_base))
                        load[where_] = abs(moved) <= MAX_WORKING_LATENCY_CHANGE_MS
    if not numbers:
        return not_measured(CLAIM, "no runs that differ in base RTT only")
    reason = (
        f"idle latency shifts by the added amount in {comparisons(shift)}; throughput stays within "
        f"{MAX_THROUGHPUT_CHANGE:.0%} in {comparisons(rate)}; working latency within "
        f"{MAX_WORKING_LATENCY_CHANGE_MS} ms in {comparisons(load)}"
    )
    return Verdict(
        CLAIM,
        graded([*shift.values(), *rate.values(), *load.values()]),
        reason,
        tuple(sorted(numbers, key=lambda n: (n.name, -abs(n.value)))[:18]),
        "conditions that differ in base RTT only",
        ids(used),
    )


def _added(runs: list[Observed], direction: str) -> list[float]:
    added = [r.quantity("probe_working_latency_ms", direction) for r in runs]
    return [v for v in added if v is not None]
