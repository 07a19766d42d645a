"""What the claims measure: of trials of pairs their shares of a fair rate, and what services say themselves.

`length` may differ: the longest trials of a pair count, and a verdict says which these were.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby

from narrows.comparing.conditions import Rank, rank
from narrows.comparing.pair_shares import Side, Summary, summaries
from narrows.comparing.trials import Trial, trials
from narrows.judging.parts import Item, Judge, Measure, Read, Share, spelt
from narrows.runs.observed import Observed
from narrows.runs.same_runs import of_same_runs
from narrows.studies.prudentia.testbed import LENGTHS, TEN

FAIR = 0.9
"""A service that gets this much of its fair rate counts as treated fairly."""
RATES = ("8Mbit", "50Mbit")
NOBODY = "nobody"
"""Beside whom a service is that is alone."""


@of_same_runs
def made_here(runs: Iterable[Observed]) -> list[Trial]:
    """Trials on links of this study's kind: two services at most, drop-tail in packets."""
    return [t for t in trials(runs) if t.run.link.queue == "pfifo" and t.run.link.base_rtt_ns == 50_000_000]


@of_same_runs
def _summed_up(runs: Iterable[Observed]) -> list[Summary]:
    return summaries(made_here(runs))


def labels(one: Summary) -> Mapping[str, str]:
    """Its conditions; without a label for it, the queue is the usual one."""
    return {"queue": "usual", **dict(one.conditions)}


def length_rank(one: Summary) -> Rank:
    """Longer trials after shorter ones."""
    return rank("length", labels(one).get("length", "0s"))


def is_known(one: Summary) -> bool:
    """Whether the shares of all are known."""
    return all(side.share is not None for side in one.sides)


def pairs(runs: Iterable[Observed], rate: str | None = None, **asked: str) -> list[Summary]:
    """What came of every pair, whichever is named first, and of every service alone, of the longest trials
    whose shares are known."""
    wanted = {"queue": "usual", **asked, **({} if rate is None else {"rate": rate})}
    chosen = [one for one in _summed_up(runs) if wanted.items() <= labels(one).items()]

    def what(one: Summary) -> tuple[str, ...]:
        return (labels(one).get("rate", ""), *sorted(one.pair))

    # The longest that says most: of a pair that was tried at several lengths only one set counts.
    return [
        max(same, key=lambda one: (is_known(one), length_rank(one), one.n))
        for _, same in groupby(sorted(chosen, key=what), key=what)
    ]


def of_ten(runs: Iterable[Observed], rate: str, **asked: str) -> list[Summary]:
    """Pairs of the ten services at a rate, as `pairs` has them; what else met is left out."""
    return [one for one in pairs(runs, rate, **asked) if set(one.pair) <= set(TEN)]


def most_tried(runs: Iterable[Observed], rate: str) -> list[Summary]:
    """Two of the ten services at a rate: of each pair the length of which there are most trials, for what is
    asked of the trials themselves; the longest of those."""
    every = list(runs)
    known = {run.key["length"] for run in every if "length" in run.key}
    best: dict[tuple[str, ...], Summary] = {}
    for length in sorted(known, key=partial(rank, "length")):
        for one in of_ten(every, rate, length=length):
            both = tuple(sorted(one.pair))
            if len(both) == 2 and (both not in best or one.n >= best[both].n):
                best[both] = one
    return list(best.values())


def met(every: Iterable[Summary]) -> list[Summary]:
    """Pairs whose shares are known."""
    return [one for one in every if len(one.pair) == 2 and is_known(one)]


def all_met(runs: Iterable[Observed]) -> Iterator[Summary]:
    """Pairs of the ten services whose shares are known, at both rates."""
    every = list(runs)
    for rate in RATES:
        yield from met(of_ten(every, rate))


def pair(every: Iterable[Summary], one: str, other: str) -> tuple[Side, Side] | None:
    """Both sides of a pair, the one that is asked for first; None where they did not meet."""
    for each in every:
        if each.pair in ((one, other), (other, one)):
            sides = each.sides if each.pair == (one, other) else each.sides[::-1]
            return sides[0], sides[1]
    return None


def lengths(every: Iterable[Summary | Item]) -> str:
    """`trials of 60 s, 180 s`, for the conditions of a verdict."""
    known = {
        one.key.get("length", "") if isinstance(one, Item) else labels(one).get("length", "") for one in every
    }
    told = ", ".join(spelt(label) for label in sorted(known - {""}, key=partial(rank, "length")))
    return f"trials of {told}" if told else "trials"


def used(every: Iterable[Summary]) -> tuple[str, ...]:
    """The runs behind summaries."""
    return tuple(sorted({run for one in every for run in one.run_ids}))


def item(of: object, every: Summary | Iterable[Summary], **more: str) -> Item:
    """Something of one summary or of several, under the labels of the first."""
    several = [every] if isinstance(every, Summary) else list(every)
    n = len(of.rates_mbps) if isinstance(of, Side) else several[0].n
    return Item(of, {**labels(several[0]), **more}, used(several), n=n)


def sides(every: Iterable[Summary]) -> Iterator[Item]:
    """Each side of each pair: a service, and beside whom."""
    for one in every:
        for side, other in zip(one.sides, one.pair[::-1] if len(one.pair) == 2 else (NOBODY,), strict=True):
            yield item(side, one, service=side.service, beside=other)


def alike(
    runs: Iterable[Observed],
    rate: str,
    wanted: Sequence[tuple[str, str]],
    queues: Sequence[str] = ("usual",),
    among: Iterable[str] = (),
) -> list[Item]:
    """The sides that are asked for, service and beside whom, of trials of the greatest length at which all of
    these pairs met: trials of other lengths are other trials. None where there is no such length. They rest
    on the pair's trials, or on all of the services `among` which it is seen."""
    known, asked, every = list(runs), [(queue, *both) for queue in queues for both in wanted], set(among)
    for length in reversed(LENGTHS):
        here = {queue: pairs(known, rate, queue=queue, length=length) for queue in queues}
        found = [(here[queue], one, other, pair(here[queue], one, other)) for queue, one, other in asked]
        if all(both is not None and both[0].share is not None for *_, both in found):
            return [
                item(
                    both[0],
                    [each for each in those if _is_among(each.pair, every, {one, other})],
                    service=one,
                    beside=other,
                )
                for those, one, other, both in found
                if both is not None
            ]
    return []


def _is_among(both: Iterable[str], every: set[str], names: set[str]) -> bool:
    return set(both) <= every if every else set(both) == names


def of_trials(runs: Iterable[Observed], services: Iterable[str]) -> Iterator[Item]:
    """Each of these services in each trial: the trial and its place in it, and beside whom."""
    for trial in made_here(runs):
        for n, service in enumerate(trial.pair):
            if service in services and trial.pair.index(service) == n:
                beside = next((name for at, name in enumerate(trial.pair) if at != n), NOBODY)
                key = {**trial.run.key, "service": service, "beside": beside}
                yield Item((trial, n), key, (trial.run.run_id,))


def of_service(read: Callable[[Observed, str], float | None]) -> Read:
    """A number of a service itself, by its item, in a trial that is valid."""

    def number(of: tuple[Trial, int]) -> float | None:
        trial, n = of
        return None if trial.faults() else read(trial.run, trial.uses[n].item)

    return number


def figure(name: str, direction: str | None = None) -> Read:
    """A figure of the service itself."""
    return of_service(lambda run, item: run.figure(name, direction, run.whose(item)))


SHARE = Share("share of its fair rate", read=lambda side: side.share)
RATE = Measure("rate", "Mbit/s", lambda side: side.rate_mbps)
Paired = partial(Judge, by=("rate", "service", "beside"), under=lengths)
