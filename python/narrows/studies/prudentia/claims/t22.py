"""T22: unfairness is not transitive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations

from narrows.comparing.pair_shares import Summary
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.parts import FAIR, lengths, met, number, numbers, of_ten, share, used
from narrows.judging.verdict import Claim, Verdict, graded, not_measured

CLAIM = Claim(
    "T22",
    "unfairness is not transitive: a is unfair to b and b to c, and a is fair to c",
    "section 4.5.4, Table 4.3",
    "t22_transitive.py",
)


Triple = tuple[str, str, str, float, float, float]


def against(here: Sequence[Summary]) -> tuple[int, list[Triple]]:
    """How many triples all met; those that are not transitive: a, b, c, and the shares of b beside a, of c
    beside b, of c beside a."""
    names = sorted({name for one in met(here) for name in one.pair})
    tried, found = 0, []
    for a, b, c in permutations(names, 3):
        got = (share(here, b, a), share(here, c, b), share(here, c, a))
        if None in got:
            continue
        tried += 1
        b_beside_a, c_beside_b, c_beside_a = (value or 0.0 for value in got)
        if b_beside_a < FAIR and c_beside_b < FAIR and c_beside_a >= FAIR:
            found.append((a, b, c, b_beside_a, c_beside_b, c_beside_a))
    return tried, found


def judge(runs: Iterable[Observed]) -> Verdict:
    """Triples of services that all met, at both rates."""
    every, marks, found, rest, told = list(runs), {}, [], list[Summary](), []
    for rate in ("8Mbit", "50Mbit"):
        here = of_ten(every, rate)
        tried, others = against(here)
        if not tried:
            continue
        rest += met(here)
        marks[rate] = bool(others)
        told.append(f"{rate}: {len(others)} of {tried} triples")
        found.append(number("triples that are not transitive", "triples", [float(len(others))], f"at {rate}"))
        for a, b, c, *values in others[:1]:
            what = f"{b} beside {a}, {c} beside {b}, {c} beside {a}, {rate}"
            found += [number("share", "1", [value], what) for value in values]
    if not marks:
        return not_measured(CLAIM, "no three services all met")
    reason = f"unfair is below {FAIR:.0%} of the fair rate: {'; '.join(told)}"
    return Verdict(CLAIM, graded(list(marks.values())), reason, numbers(*found), lengths(rest), used(rest))
