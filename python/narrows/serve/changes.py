"""What changed from one iteration of a watch to the next: versions, and rates beyond their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from narrows.comparing.pair_shares import summaries
from narrows.comparing.trials import trials
from narrows.runs.observed import Observed
from narrows.serve.catalog import Entry
from narrows.watch.compare import Difference, differences
from narrows.watch.iterations import RUNS, Iteration, changed, there


@dataclass(frozen=True)
class Step:
    """An iteration after the one before it."""

    before: Iteration
    after: Iteration
    versions: tuple[str, ...]
    found: tuple[Difference, ...]


def iterations(entry: Entry) -> list[Iteration]:
    """All iterations of the watch whose runs these are, in order; none where they are of no watch."""
    return there(entry.path.parent.parent) if entry.path.name == RUNS else []


def steps(known: Sequence[Iteration], runs_of: Callable[[Iteration], Sequence[Observed]]) -> list[Step]:
    """Each iteration beside the one before, the newest first."""
    shares = [summaries(trials(runs_of(one))) for one in known]
    made = [
        Step(before, after, tuple(changed(before.versions, after.versions)), tuple(differences(old, new)))
        for (before, after), (old, new) in zip(pairwise(known), pairwise(shares), strict=True)
    ]
    return made[::-1]
