"""What is run next: sets of trials, round robin over pairs, until the rates of each are known well enough.

The queue is what is on the disk: a trial that is whole is not made again, so a watch that was stopped or
killed goes on where it was. A pair is done when the 95 % interval of the median of both rates reaches no
further than the bound after a whole set; one that is still wide after the most trials is unstable, which is
an answer. An invalid trial uses up its seed and does not count.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from narrows.comparing.pair_shares import Summary
from narrows.plan.model import Plan
from narrows.spec.axis import SEED

Pair = tuple[tuple[str, str], ...]
"""A run's labels without its seed."""
MOST = 30
SET = 10
SLOW_BPS, WITHIN_SLOW_MBPS, WITHIN_MBPS = 8_000_000, 0.5, 1.5
"""How far an interval may reach on links up to 8 Mbit/s, and on faster ones."""


@dataclass(frozen=True)
class Rule:
    """How many trials of a pair there are in a set and at most, and how far an interval may reach (None: as
    the rate has it)."""

    a_set: int = SET
    most: int = MOST
    within_mbps: float | None = None

    def bound_mbps(self, rate_bps: int | None) -> float:
        """How wide an interval may be on a link of this rate."""
        if self.within_mbps is not None:
            return self.within_mbps
        return WITHIN_SLOW_MBPS if rate_bps is not None and rate_bps <= SLOW_BPS else WITHIN_MBPS


@dataclass(frozen=True)
class State:
    """What is known of a pair: "open", "known" or "unstable"."""

    pair: Pair
    made: int
    valid: int
    width_mbps: float | None
    word: str


def pair_of(plan: Plan) -> Pair:
    """The labels without the seed."""
    return tuple((axis, label) for axis, label in plan.key.items() if axis != SEED)


def states(
    plans: Sequence[Plan], made: Mapping[Pair, int], summaries: Iterable[Summary], rule: Rule
) -> list[State]:
    """The state of every pair, in the order of the plans. `made`: how many trials of each are whole or
    have failed."""
    known = {tuple(sorted((*one.conditions, ("pair", "+".join(one.pair))))): one for one in summaries}
    result = []
    for pair, rate in {pair_of(plan): plan.link.rate_down_bps for plan in plans}.items():
        one = known.get(tuple(sorted(pair)))
        count, width = made.get(pair, 0), one.width_mbps if one else None
        narrow = width is not None and width <= rule.bound_mbps(rate)
        word = "open"
        if count and count % rule.a_set == 0 and narrow:
            word = "known"
        elif count >= rule.most:
            word = "known" if narrow else "unstable"
        result.append(State(pair, count, one.n if one else 0, width, word))
    return result


def next_set(plans: Sequence[Plan], now: Sequence[State], rule: Rule) -> list[Plan]:
    """The trials of the next set: seed after seed, in each the pairs that are open, in turn."""
    goals = {
        state.pair: min(rule.most, (state.made // rule.a_set + 1) * rule.a_set)
        for state in now
        if state.word == "open"
    }
    by_seed: dict[int, list[Plan]] = {}
    seen: dict[Pair, int] = {}
    for plan in plans:
        pair = pair_of(plan)
        number = seen.get(pair, 0)
        seen[pair] = number + 1
        if number < goals.get(pair, 0):
            by_seed.setdefault(number, []).append(plan)
    return [plan for number in sorted(by_seed) for plan in by_seed[number]]
