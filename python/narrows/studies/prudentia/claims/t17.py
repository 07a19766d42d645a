"""T17: unfairness and an unused link go together."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.comparing.pair_shares import Summary
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.parts import lengths, number, numbers, pairs, used
from narrows.judging.verdict import Claim, Verdict, graded, not_measured

UNDER_USED = {"50Mbit": 0.85, "8Mbit": 0.95}

CLAIM = Claim(
    "T17",
    "unfairness and under-use go together: loss-based flows against bursts use less than 85 % of the link; "
    "two videos under-use 8 Mbit/s",
    "section 4.4.1",
    "t17_underuse.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Utilisation of the pairs that are named."""
    every, marks, found, rest = list(runs), {}, [], list[Summary]()
    wanted = {
        "50Mbit": [("cubic", "batches"), ("reno", "batches")],
        "8Mbit": [("dash", "hls"), ("dash", "shaka"), ("hls", "shaka"), ("dash", "dash")],
    }
    for rate, both in wanted.items():
        for one in pairs(every, rate):
            if one.utilisation is not None and any(sorted(one.pair) == sorted(each) for each in both):
                rest.append(one)
                name = "+".join(one.pair)
                marks[f"{name} at {rate}"] = one.utilisation < UNDER_USED[rate]
                found.append(number(f"link used by {name}", "1", [one.utilisation], f"at {rate}"))
    if not marks:
        return not_measured(CLAIM, "none of the pairs met")
    yes = ", ".join(name for name, mark in marks.items() if mark) or "none"
    reason = f"under-used is below 85 % at 50 and below 95 % at 8 Mbit/s; so: {yes} of {', '.join(marks)}"
    return Verdict(CLAIM, graded(list(marks.values())), reason, numbers(*found), lengths(rest), used(rest))
