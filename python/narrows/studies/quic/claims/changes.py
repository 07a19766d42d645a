"""What claims ask of the runs in which something changes: one number of each contestant."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from narrows.runs.observed import Observed
from narrows.studies.quic.claims.losses import of
from narrows.studies.verdict import Claim, Number, Verdict, graded, ids, not_measured, yes_of

EXPERIMENT = "q2_changes.py"
PLACE = "bottleneck down"


def each(
    runs: Iterable[Observed],
    claim: Claim,
    name: str,
    unit: str,
    measure: Callable[[Observed], float | None],
    passes: Callable[[str, float], bool],
    words: str,
) -> Verdict:
    """Whether the number of every contestant passes. The same run twice is one."""
    once = {"time": "once"} if claim.experiment == EXPERIMENT else {}
    chosen = {run.key["stack"]: run for run in of(runs, claim.experiment, **once)}
    values = {stack: value for stack, run in sorted(chosen.items()) if (value := measure(run)) is not None}
    if not values:
        return not_measured(claim, "no run of it")
    marks = {stack: passes(stack, value) for stack, value in values.items()}
    numbers = tuple(Number(name, unit, value, 1, stack) for stack, value in values.items())
    return Verdict(
        claim,
        graded(list(marks.values())),
        f"{words}: {yes_of(marks)} (n = 1 each)",
        numbers,
        words,
        ids(list(chosen.values())),
    )
