"""T14: beside loss-based rivals a call's packets come too late."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.comparing.trials import Trial
from narrows.runs.observed import Observed
from narrows.runs.settled import LATE
from narrows.studies.prudentia.claims.parts import made_here, number, numbers, readings
from narrows.studies.prudentia.testbed import CALLS
from narrows.judging.verdict import Claim, Verdict, graded, ids, not_measured

RATE = "8Mbit"
MANY, FEW = 0.4, 0.1

CLAIM = Claim(
    "T14",
    "loss-based rivals (and the batched download) push 40 to 92 % of a call's packets over 190 ms; single "
    "BBR rivals nearly none",
    "section 4.3.1, Fig. 4.5",
    "t14_late_packets.py",
)


def late(trial: Trial, n: int) -> float | None:
    """Share of the call's packets that come too late."""
    return trial.run.quantity(LATE, trial.uses[n].item)


def judge(runs: Iterable[Observed]) -> Verdict:
    """The share of late packets beside each rival."""
    every = list(runs)
    marks, found = {}, []
    for service in CALLS:
        for rival, many in (("cubic", True), ("reno", True), ("batches", True), ("bbr", False)):
            values = readings(every, late, RATE, service, rival)
            if not values:
                continue
            middle = float(np.median(values))
            marks[f"{service} beside {rival}"] = middle >= MANY if many else middle <= FEW
            found.append(number(f"{service}: late packets", "1", values, f"beside {rival}, {RATE}"))
    if not marks:
        return not_measured(CLAIM, "no call met a rival at 8 Mbit/s")
    own = [t.run for t in made_here(every) if set(t.pair) & set(CALLS) and t.run.key.get("rate") == RATE]
    failed = [name for name, mark in marks.items() if not mark]
    reason = f"many is {MANY:.0%} and more, nearly none {FEW:.0%} at most; " + (
        f"not so: {', '.join(failed)}" if failed else "all are so"
    )
    return Verdict(CLAIM, graded(list(marks.values())), reason, numbers(*found), run_ids=ids(own))
