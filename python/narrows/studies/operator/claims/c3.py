"""C3: the same test reads differently once AQM and a dual queue are deployed; retransmissions change."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.runs.observed import Observed
from narrows.studies.operator.claims.cases import (
    advertised_share,
    by_key,
    known,
    loaded_rtt_ms,
    retransmitted,
    runs_of,
    sojourn_ms,
    values,
)
from narrows.judging.verdict import Claim, Number, Verdict, comparisons, graded, ids, median_of, not_measured

DIFFERENT_SHARE = 0.05  # of the advertised speed
DIFFERENT_RETRANSMISSIONS = 2  # or retransmissions by this factor
LEAST_RETRANSMISSIONS = 1e-4  # below this there are none to speak of
BEFORE = "fifo"
ITEMS = {"capacity": "test.down", "ndt7": "test", "l4s": "test"}
"""Of the plan, by the axis' label."""

CLAIM = Claim(
    "C3",
    "The same test reads differently once AQM and a dual queue are deployed: share of advertised speed by "
    "configuration, retransmissions change",
    "slides 6, 7 and 9",
    "c3_dual_queue.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Each tool, alone and beside a flow: every AQM against the FIFO."""
    chosen = runs_of(runs, CLAIM.experiment)
    numbers: list[Number] = []
    shares: dict[str, bool] = {}
    again: dict[str, bool] = {}
    for (tool, beside), some in by_key(chosen, "tool", "beside").items():
        medians: dict[str, tuple[float, float]] = {}
        for (queue,), same in by_key(some, "queue").items():
            words = f"{tool} test, beside it {beside}, {queue}"
            item = ITEMS.get(tool, "test")
            share, ratio = values(same, advertised_share), values(same, retransmitted)
            nqb = [loaded_rtt_ms(run, "nqb", item, 95) for run in same]
            own = [sojourn_ms(run, item) for run in same]
            found = (
                median_of("share of advertised speed", "1", share, words),
                median_of("retransmitted", "1", ratio, words),
                median_of("sojourn of the test's packets, median", "ms", known(own), words),
                median_of("RTT of sparse NQB probes, p95", "ms", known(nqb), words),
            )
            numbers += [n for n in found if n is not None]
            if share.size and ratio.size:
                medians[queue] = (float(np.median(share)), float(np.median(ratio)))
        for queue, (share_now, again_now) in medians.items():
            if queue == BEFORE or BEFORE not in medians:
                continue
            words = f"{tool} test beside {beside}: {queue}"
            share_before, again_before = medians[BEFORE]
            shares[words] = abs(share_now - share_before) >= DIFFERENT_SHARE
            low, high = sorted(
                (max(again_now, LEAST_RETRANSMISSIONS), max(again_before, LEAST_RETRANSMISSIONS))
            )
            again[words] = high / low >= DIFFERENT_RETRANSMISSIONS
    if not shares:
        return not_measured(CLAIM, "no tool ran through a FIFO and an AQM")
    alone = {w: d for w, d in shares.items() if " beside nothing" in w}
    reason = (
        f"the share of advertised speed differs from the FIFO's by {DIFFERENT_SHARE:.0%} or more in "
        f"{comparisons(shares)} ({sum(alone.values())} of {len(alone)} where the test is alone); "
        f"retransmissions differ {DIFFERENT_RETRANSMISSIONS}-fold in {comparisons(again)}"
    )
    return Verdict(
        CLAIM,
        graded([*shares.values(), *again.values()]),
        reason,
        tuple(numbers),
        "20 Mbit/s, base RTT 20 ms, one tool at a time",
        ids(chosen),
    )
