"""What changed between two iterations: rates whose intervals do not overlap, and what cannot be told."""

from collections.abc import Iterable
from dataclasses import dataclass

from narrows.comparing.pair_shares import Side, Summary


@dataclass(frozen=True)
class Difference:
    """A service in a pair, before and after."""

    conditions: str
    pair: str
    service: str
    before: Side
    after: Side
    word: str
    """"changed", "not changed", or "too few trials to tell"."""


def differences(before: Iterable[Summary], after: Iterable[Summary]) -> list[Difference]:
    """Compares every service of every pair that both iterations have, those that changed first."""
    old = {(one.conditions, one.pair): one for one in before}
    made = []
    for new in after:
        earlier = old.get((new.conditions, new.pair))
        if earlier is None:
            continue
        for was, now in zip(earlier.sides, new.sides, strict=True):
            conditions = " ".join(f"{axis}={label}" for axis, label in new.conditions)
            made.append(Difference(conditions, "+".join(new.pair), now.service, was, now, _word(was, now)))
    order = ("changed", "too few trials to tell", "not changed")
    return sorted(made, key=lambda one: order.index(one.word))


def _word(was: Side, now: Side) -> str:
    if was.low_mbps is None or was.high_mbps is None or now.low_mbps is None or now.high_mbps is None:
        return "too few trials to tell"
    apart = now.low_mbps > was.high_mbps or now.high_mbps < was.low_mbps
    return "changed" if apart else "not changed"
