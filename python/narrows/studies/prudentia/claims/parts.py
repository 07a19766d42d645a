"""What the claims ask of trials: pairs at a rate, their shares, and the numbers of single services.

`--length` may differ: the longest trials of a pair count, and a verdict says which these were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

import numpy as np

from narrows.comparing.pair_shares import Side, Summary, summaries
from narrows.comparing.trials import Trial, trials
from narrows.runs.observed import Observed
from narrows.runs.same_runs import of_same_runs
from narrows.studies.prudentia.testbed import LENGTHS, TEN
from narrows.judging.verdict import Number, median_of

FAIR = 0.9
"""A service that gets this much of its fair rate counts as treated fairly."""


@of_same_runs
def made_here(runs: Iterable[Observed]) -> list[Trial]:
    """Trials on links of this study's kind: two services at most, drop-tail in packets."""
    return [t for t in trials(runs) if t.run.link.queue == "pfifo" and t.run.link.base_rtt_ns == 50_000_000]


@of_same_runs
def _summed_up(runs: Iterable[Observed]) -> list[Summary]:
    return summaries(made_here(runs))


def pairs(runs: Iterable[Observed], rate: str | None = None, **labels: str) -> list[Summary]:
    """What came of every pair, whichever is named first, and of every service alone, of the longest trials
    whose shares are known. Without a label for it, the queue is the usual one."""
    wanted = {"queue": "usual", **labels, **({} if rate is None else {"rate": rate})}
    services = []
    for one in _summed_up(runs):
        told = {"queue": "usual", **dict(one.conditions)}
        if all(told.get(axis) == label for axis, label in wanted.items()):
            services.append(one)

    def what(one: Summary) -> tuple[str, ...]:
        return (dict(one.conditions).get("rate", ""), *sorted(one.pair))

    def says(one: Summary) -> tuple[bool, float, int]:
        seconds = float(dict(one.conditions).get("length", "0s").removesuffix("s"))
        return (all(side.share is not None for side in one.sides), seconds, one.n)

    ordered = sorted(services, key=what)
    # The longest that says most: of a pair that was tried at several lengths only one set counts.
    return [max(same, key=says) for _, same in groupby(ordered, key=what)]


def of_ten(runs: Iterable[Observed], rate: str, **labels: str) -> list[Summary]:
    """Pairs of the ten services at a rate, as `pairs` has them; what else met is left out."""
    return [one for one in pairs(runs, rate, **labels) if set(one.pair) <= set(TEN)]


def most_tried(runs: Iterable[Observed], rate: str) -> list[Summary]:
    """Two of the ten services at a rate: of each pair the length of which there are most trials, for what is
    asked of the trials themselves; the longest of those."""
    every = list(runs)
    labels = {run.key["length"] for run in every if "length" in run.key}
    best: dict[tuple[str, ...], Summary] = {}
    for length in sorted(labels, key=lambda label: float(label.removesuffix("s"))):
        for one in of_ten(every, rate, length=length):
            both = tuple(sorted(one.pair))
            if len(both) == 2 and (both not in best or one.n >= best[both].n):
                best[both] = one
    return list(best.values())


def at_one_length(
    runs: Iterable[Observed],
    rate: str,
    wanted: Iterable[tuple[str, str]],
    *,
    queue: Iterable[str] = ("usual",),
) -> dict[str, list[Summary]] | None:
    """By queue, what came of trials of the greatest length at which all of these pairs met: trials of other
    lengths are other trials. None where there is no such length."""
    every, asked, queues = list(runs), list(wanted), list(queue)
    for length in sorted(LENGTHS, key=lambda label: -float(label.removesuffix("s"))):
        here = {each: pairs(every, rate, queue=each, length=length) for each in queues}
        if all(share(here[each], *both) is not None for each in queues for both in asked):
            return here
    return None


def met(every: Iterable[Summary]) -> list[Summary]:
    """Pairs whose shares are known."""
    return [one for one in every if len(one.pair) == 2 and all(s.share is not None for s in one.sides)]


def alone(every: Iterable[Summary], name: str) -> Summary | None:
    """A service alone."""
    return next((one for one in every if one.pair == (name,)), None)


def pair(every: Iterable[Summary], one: str, other: str) -> tuple[Side, Side] | None:
    """Both sides of a pair, the one that is asked for first; None where they did not meet."""
    for each in every:
        if each.pair == (one, other):
            return each.sides[0], each.sides[1]
        if each.pair == (other, one):
            return each.sides[1], each.sides[0]
    return None


def share(every: Iterable[Summary], one: str, other: str) -> float | None:
    """What share of its fair rate a service gets beside another."""
    both = pair(every, one, other)
    return None if both is None else both[0].share


def losers(every: Iterable[Summary]) -> list[float]:
    """The smaller share of each pair of different services."""
    return [min(s.share or 0.0 for s in one.sides) for one in met(every) if one.pair[0] != one.pair[1]]


def left_to_rivals(every: Sequence[Summary], name: str) -> list[float]:
    """The shares that others get beside a service, itself left out."""
    shares = []
    for one in met(every):
        if name in one.pair and one.pair[0] != one.pair[1]:
            other = one.sides[1 - one.pair.index(name)]
            shares.append(other.share or 0.0)
    return shares


def lengths(every: Iterable[Summary]) -> str:
    """`trials of 60 s, 180 s`, for the conditions of a verdict."""
    lengths_s = {dict(one.conditions).get("length", "") for one in every} - {""}
    told = ", ".join(f"{each.removesuffix('s')} s" for each in sorted(lengths_s, key=lambda s: float(s[:-1])))
    return f"trials of {told}" if told else "trials"


def used(every: Iterable[Summary]) -> tuple[str, ...]:
    """The runs behind summaries."""
    return tuple(sorted({run for one in every for run in one.run_ids}))


def number(name: str, unit: str, values: Sequence[float], conditions: str) -> Number | None:
    """The median of values with its interval."""
    return median_of(name, unit, np.array(values, dtype=np.float64), conditions)


def numbers(*maybe: Number | None) -> tuple[Number, ...]:
    """Those that there are."""
    return tuple(each for each in maybe if each is not None)


def readings(
    runs: Iterable[Observed],
    of: Callable[[Trial, int], float | None],
    rate: str,
    service: str,
    rival: str | None,
) -> list[float]:
    """A number of a service in each of its valid trials beside a rival; None: alone."""
    values = []
    for trial in made_here(runs):
        if trial.run.key.get("rate") != rate or trial.faults() or service not in trial.pair:
            continue
        others = [name for n, name in enumerate(trial.pair) if n != trial.pair.index(service)]
        if others == ([] if rival is None else [rival]):
            value = of(trial, trial.pair.index(service))
            if value is not None:
                values.append(value)
    return values


def figure(name: str, direction: str | None = None) -> Callable[[Trial, int], float | None]:
    """A figure of the service itself."""
    return lambda trial, n: trial.run.figure(trial.uses[n].item, name, direction)
