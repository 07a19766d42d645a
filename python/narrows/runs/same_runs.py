"""Remembers what was worked out of some runs: claims and figures of a study ask for it dozens of times."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import TypeVar

from narrows.runs.observed import Observed

Made = TypeVar("Made")


def of_same_runs(make: Callable[[list[Observed]], Made]) -> Callable[[Iterable[Observed]], Made]:
    """`make`, called once for the runs that were asked for last. Nobody may change what it gives."""
    known: dict[tuple[int, ...], tuple[list[Observed], Made]] = {}

    @wraps(make)
    def made(runs: Iterable[Observed]) -> Made:
        every = list(runs)  # held with what was made of them, so that no other run has their identity
        which = tuple(map(id, every))
        if which not in known:
            known.clear()
            known[which] = (every, make(every))
        return known[which][1]

    return made
