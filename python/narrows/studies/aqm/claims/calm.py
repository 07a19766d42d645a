"""The judgement that R2 and R4 share: latency without load shows no spikes."""

from __future__ import annotations

import numpy as np

from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.evidence import by, glitch_rates, probe_losses, rtt_tails_ms
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, median_of, not_measured, worst_of

MAX_SPIKES_PER_MINUTE = 0
MAX_TAIL_MS = 5  # p99 - median of the test's RTT


def judge_calm(claim: Claim, chosen: list[Observed], conditions: str) -> Verdict:
    """No excursion of the probe by 20 ms (a lost probe is not one), and a small tail, under each condition
    and in each direction."""
    numbers: list[Number] = []
    passed: list[bool] = []
    failed: list[str] = []
    for (rate, burst, queue), same in by(chosen, "rate_mbps", "burst", "queue").items():
        for direction in ("down", "up"):
            words = f"{rate:g} Mbit/s, {queue}, burst {burst}, {direction}"
            tails, found = rtt_tails_ms(same, direction), glitch_rates(same, direction, lost_counts=False)
            tail = median_of("p99 - median of the test's RTT", "ms", tails, words)
            glitch = worst_of("most spikes of the probe (20 ms)", "1/min", found, words)
            if tail is None or glitch is None:
                continue
            calm = float(np.max(found)) <= MAX_SPIKES_PER_MINUTE and tail.value <= MAX_TAIL_MS
            passed.append(calm)
            numbers += [tail, glitch]
            loss = median_of("probes lost", "1", probe_losses(same, direction), words)
            if loss is not None:
                numbers.append(loss)
            if not calm:
                failed.append(words)
    if not passed:
        return not_measured(claim, f"no run with a probe {conditions}")
    reason = f"{sum(passed)} of {len(passed)} conditions show no spike and a tail of at most {MAX_TAIL_MS} ms"
    if failed:
        reason += f"; not: {'; '.join(failed)}"
    return Verdict(
        claim,
        graded(passed),
        reason,
        _telling(numbers),
        conditions,
        ids(chosen),
    )


def _telling(numbers: list[Number]) -> tuple[Number, ...]:
    """The largest of each kind: what the verdict turns on, without a row for every calm condition."""
    kinds = dict.fromkeys(n.name for n in numbers)
    return tuple(
        m
        for kind in kinds
        for m in sorted((n for n in numbers if n.name == kind), key=lambda n: -n.value)[:3]
    )
