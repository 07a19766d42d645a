"""T11: concurrent flows make a service contentious."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.parts import at_one_length, lengths, number, numbers, share, used
from narrows.judging.verdict import Claim, Verdict, graded, not_measured

RATE = "8Mbit"
CONTENDERS = ("bbr", "two", "four", "eight")

CLAIM = Claim(
    "T11",
    "concurrent flows make a service contentious, in the constrained setting",
    "section 4.2.2, Fig. 4.3",
    "t11_flows.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """The share of a rival of one flow beside 1, 2, 4 and 8 flows of BBR."""
    every = list(runs)
    marks, found, rest = {}, [], []
    for rival in ("bbr", "cubic", "reno"):
        alike = at_one_length(every, RATE, [(rival, name) for name in CONTENDERS])
        if alike is None:
            continue
        here = alike["usual"]
        got = {name: share(here, rival, name) or 0.0 for name in CONTENDERS}
        marks[rival] = all(b < a for a, b in pairwise(got.values()))
        rest += [one for one in here if set(one.pair) <= {rival, *CONTENDERS}]
        found += [
            number(f"share of {rival} beside {name}", "1", [value], f"at {RATE}")
            for name, value in got.items()
        ]
    if not marks:
        return not_measured(CLAIM, "no flow met one, two, four and eight BBR flows at 8 Mbit/s")
    falls = ", ".join(name for name, mark in marks.items() if mark) or "none"
    reason = f"the share falls with each doubling of the flows for: {falls}"
    return Verdict(CLAIM, graded(list(marks.values())), reason, numbers(*found), lengths(rest), used(rest))
