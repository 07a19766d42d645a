"""T19: the size of the buffer changes outcomes."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.comparing.pair_shares import Summary
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.parts import at_one_length, lengths, number, numbers, share, used
from narrows.judging.verdict import Claim, Verdict, graded, not_measured

CHANGED = 0.2
"""Of the fair rate: a share that moves by so much has changed."""
WANTED = (("50Mbit", "reno", "batches", 1), ("50Mbit", "cubic", "batches", 1), ("8Mbit", "reno", "cubic", -1))
"""Rate, whose share beside whom, and which way the claim says it moves."""

CLAIM = Claim(
    "T19",
    "buffer size changes outcomes: doubling 4 × BDP lifts NewReno from 22 to 92 % and CUBIC from 27 to 97 % "
    "against the batched download, and drops NewReno against CUBIC from 60 to 28 % at 8 Mbit/s",
    "section 4.5.1, Fig. 4.8",
    "t19_buffer.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Shares at the usual and at twice the queue."""
    every, marks, found, rest = list(runs), {}, [], list[Summary]()
    for rate, one, other, way in WANTED:
        alike = at_one_length(every, rate, [(one, other)], queue=("usual", "double"))
        if alike is None:
            continue
        usual, double = alike["usual"], alike["double"]
        before, after = share(usual, one, other) or 0.0, share(double, one, other) or 0.0
        rest += [each for each in (*usual, *double) if {one, other} == set(each.pair)]
        marks[f"{one} beside {other} at {rate}"] = way * (after - before) >= CHANGED
        found += [
            number(f"share of {one} beside {other}, usual queue", "1", [before], f"at {rate}"),
            number(f"share of {one} beside {other}, double queue", "1", [after], f"at {rate}"),
        ]
    if not marks:
        return not_measured(CLAIM, "no pair met at both sizes of the queue")
    yes = ", ".join(name for name, mark in marks.items() if mark) or "none"
    reason = f"a change is {CHANGED:.0%} of the fair rate the claimed way; so: {yes} of {', '.join(marks)}"
    return Verdict(CLAIM, graded(list(marks.values())), reason, numbers(*found), lengths(rest), used(rest))
