"""T12: batches of chunks shape who gets what."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.comparing.pair_shares import Summary
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.parts import at_one_length, lengths, number, numbers, share, used
from narrows.judging.verdict import Claim, Verdict, graded, not_measured

RATE = "50Mbit"
DIFFERENT = 1.5
"""The control's share over that of batches, or the other way, must be at least this."""

CLAIM = Claim(
    "T12",
    "batched requests shape outcomes: a BBR download gets 33 % against five plain BBR flows and about 90 % "
    "against batches; NewReno and CUBIC 80 to 90 % and 22 to 27 %",
    "section 4.2.3, Fig. 4.4",
    "t12_batches.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Each service's share beside five flows with and without the barrier."""
    every = list(runs)
    marks, found, rest = {}, [], list[Summary]()
    for name, more_beside_batches in (("download", True), ("cubic", False), ("reno", False)):
        alike = at_one_length(every, RATE, [(name, "five"), (name, "batches")])
        if alike is None:
            continue
        here = alike["usual"]
        five, batches = share(here, name, "five") or 0.0, share(here, name, "batches") or 0.0
        rest += [one for one in here if set(one.pair) in ({name, "five"}, {name, "batches"})]
        ratio = batches / five if five else float("inf")
        marks[name] = ratio >= DIFFERENT if more_beside_batches else ratio <= 1 / DIFFERENT
        found += [
            number(f"share of {name} beside five", "1", [five], f"at {RATE}"),
            number(f"share of {name} beside batches", "1", [batches], f"at {RATE}"),
        ]
    if not marks:
        return not_measured(CLAIM, "no service met five BBR flows with and without batches at 50 Mbit/s")
    yes = ", ".join(name for name, mark in marks.items() if mark) or "none"
    reason = f"different as claimed, by a factor of {DIFFERENT:g} and more: {yes} of {', '.join(marks)}"
    return Verdict(CLAIM, graded(list(marks.values())), reason, numbers(*found), lengths(rest), used(rest))
