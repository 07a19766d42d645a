"""Q5: a QUIC stack is twice the same from the same seed, whichever port its server has."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.items import is_kept
from narrows.runs.observed import Observed
from narrows.runs.quantities import numbers
from narrows.studies.quic.claims.changes import EXPERIMENT
from narrows.studies.quic.claims.losses import of
from narrows.studies.verdict import Claim, Number, Verdict, graded, ids, not_measured, yes_of

CLAIM = Claim(
    "Q5",
    "A QUIC stack is twice the same from the same seed, whichever port its server has",
    "docs/quic.md, of narrows itself",
    EXPERIMENT,
)


def _said(run: Observed) -> dict[tuple[str, ...], float]:
    """Every number that a shard keeps too."""
    figures = {(*map(str, key), ""): value for key, value in run.figures.items() if is_kept(key[2])}
    return figures | {(name, of): value for name, of, _, value in numbers(run)}


def judge(runs: Iterable[Observed]) -> Verdict:
    """Two runs that differ in the server's port alone."""
    runs = list(runs)
    once, again = (
        {run.key["stack"]: run for run in of(runs, EXPERIMENT, time=time)} for time in ("once", "again")
    )
    both = sorted(once.keys() & again.keys())
    if not both:
        return not_measured(CLAIM, "no stack ran twice")
    pairs = {stack: (_said(once[stack]), _said(again[stack])) for stack in both}
    marks = {stack: first == second for stack, (first, second) in pairs.items()}
    found = tuple(
        Number(
            "numbers that differ", "1",
            float(sum(first.get(key) != second.get(key) for key in first.keys() | second.keys())),
            2, f"{stack}, of {len(first)}",
        )
        for stack, (first, second) in pairs.items()
    )  # fmt: skip
    words = "all numbers of rates, delays and losses that are kept, to the last digit"
    used = [run for stack in both for run in (once[stack], again[stack])]
    why = f"{words}: {yes_of(marks)} (n = 2 each)"
    return Verdict(CLAIM, graded(list(marks.values())), why, found, words, ids(used))
