"""What the claims of this study ask of a run: how much of what a stack sent the bottleneck dropped."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.runs.observed import NO_LABEL, Observed
from narrows.studies.verdict import Claim, Number, Verdict, graded, ids, median_of, not_measured

ITEM = "mine"
MUCH = 0.1
"""Of what it sends: a loss-based control of the same stack loses about 2 % there, slow start in it."""


def of(runs: Iterable[Observed], experiment: str, **labels: str) -> list[Observed]:
    """Good runs of an experiment with these labels, each once, in a steady order."""
    stem = experiment.removesuffix(".py")
    found = {
        run.run_id: run
        for run in runs
        if run.ok
        and run.experiment == stem
        and all(run.key.get(axis, NO_LABEL) == label for axis, label in labels.items())
    }
    return [found[run_id] for run_id in sorted(found)]


def loss(run: Observed) -> float | None:
    """Dropped over arrived, of the stack's own packets."""
    source = f"bottleneck/{ITEM}"
    dropped, arrived = (run.figure(source, name, "down") for name in ("tap_dropped", "tap_arrived"))
    return None if dropped is None or not arrived else dropped / arrived


def much(runs: Iterable[Observed], claim: Claim, stack: str, beside: str) -> Verdict:
    """Whether more than `MUCH` of a stack's packets were dropped behind a FIFO of one BDP."""
    chosen = of(runs, claim.experiment, stack=stack, beside=beside, queue="fifo_1bdp")
    lost = np.array([value for run in chosen if (value := loss(run)) is not None])
    words = f"fifo_1bdp, beside: {beside}"
    number: Number | None = median_of("share of its packets that were dropped", "1", lost, words)
    if number is None:
        return not_measured(claim, "no run of it behind the FIFO of 1 BDP")
    word = graded([bool(each > MUCH) for each in lost])
    share = f"{100 * number.value:.0f} % of its packets were dropped ({words}; n = {len(lost)})"
    why = f"{share}; {100 * MUCH:.0f} % are much"
    return Verdict(claim, word, why, (number,), words, ids(chosen))
