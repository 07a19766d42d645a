"""What changed from one iteration of a watch to the next: versions, rates beyond their intervals, and how the
share of each service moved."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from narrows.comparing.pair_shares import Summary, summaries
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


@dataclass(frozen=True)
class Move:
    """The share that a service of a pair got, iteration by iteration; None where there is none."""

    conditions: str
    pair: str
    service: str
    shares: tuple[float | None, ...]
    trials: tuple[int, ...]


def iterations(entry: Entry) -> list[Iteration]:
    """All iterations of the watch whose runs these are, in order; none where they are of no watch."""
    return there(entry.path.parent.parent) if entry.path.name == RUNS else []


def steps(known: Sequence[Iteration], runs: Sequence[Sequence[Observed]]) -> list[Step]:
    """Each iteration beside the one before, the newest first. `runs`: those of each iteration."""
    shares = [summaries(trials(each)) for each in runs]
    made = [
        Step(before, after, tuple(changed(before.versions, after.versions)), tuple(differences(old, new)))
        for (before, after), (old, new) in zip(pairwise(known), pairwise(shares), strict=True)
    ]
    return made[::-1]


def moves(known: Sequence[Iteration], runs: Sequence[Sequence[Observed]]) -> list[Move]:
    """The share of every service of every pair in all iterations, in the order of the pairs."""
    found: dict[tuple[object, tuple[str, ...]], dict[int, Summary]] = {}
    for number, each in enumerate(runs):
        for one in summaries(trials(each)):
            if len(one.pair) > 1:
                found.setdefault((one.conditions, one.pair), {})[number] = one
    made = []
    for (_, pair), by_number in found.items():
        told = " ".join(f"{axis}={label}" for axis, label in next(iter(by_number.values())).conditions)
        for side, service in enumerate(pair):
            there = [by_number.get(number) for number in range(len(known))]
            shares = tuple(None if one is None else one.sides[side].share for one in there)
            made.append(
                Move(told, "+".join(pair), service, shares, tuple(one.n if one else 0 for one in there))
            )
    return made
