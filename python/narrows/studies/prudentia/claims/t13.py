"""T13: calls trade resolution, frame rate and freezes differently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.parts import figure, made_here, number, numbers, readings
from narrows.studies.prudentia.testbed import PROGRAMS, RIVALS
from narrows.judging.verdict import Claim, Verdict, graded, ids, not_measured

RATE = "8Mbit"
WHAT = {
    "lines": ("call_height", "down", "1"),
    "frames a second": ("call_frame_rate", "down", "1/s"),
    "freezes a minute": ("call_freezes_per_min", "down", "1/min"),
}
MUCH = 0.1
"""Of its lines or frames alone: who has that much less has given them up."""
FREEZES = 2.0
"""A minute, more than alone: who has them has given up smoothness."""

CLAIM = Claim(
    "T13",
    "calls trade resolution, frame rate and freezes differently under contention",
    "section 4.3.1, Fig. 4.5, Table 4.2",
    "t13_calls.py",
    decided_by="beside",
)


def given_up(alone: Mapping[str, float], beside: Mapping[str, float]) -> frozenset[str]:
    """Which of the three a call has less of beside a rival."""
    return frozenset(
        what
        for what in alone.keys() & beside.keys()
        if (
            beside[what] - alone[what] > FREEZES
            if what == "freezes a minute"
            else beside[what] < (1 - MUCH) * alone[what]
        )
    )


def judge(runs: Iterable[Observed]) -> Verdict:
    """Whether programs give up different things beside one rival; of each that two programs met."""
    every, found = list(runs), []
    medians: dict[tuple[str, str | None], dict[str, float]] = {}
    for service in PROGRAMS:
        for rival in (None, *RIVALS):
            for what, (key, way, unit) in WHAT.items():
                values = readings(every, figure(key, way), RATE, service, rival)
                if values:
                    medians.setdefault((service, rival), {})[what] = float(np.median(values))
                    found.append(
                        number(f"{service}: {what}", unit, values, f"beside {rival or 'nobody'}, {RATE}")
                    )
    lost: dict[str, dict[str, frozenset[str]]] = {}
    for (service, rival), beside in medians.items():
        if rival is not None and (service, None) in medians:
            lost.setdefault(rival, {})[service] = given_up(medians[service, None], beside)
    marks = {rival: len(set(by.values())) > 1 for rival, by in lost.items() if len(by) > 1}
    if not marks:
        return not_measured(CLAIM, "no two programs of calls met one rival at 8 Mbit/s, each alone too")
    own = [t.run for t in made_here(every) if set(t.pair) & set(PROGRAMS) and t.run.key.get("rate") == RATE]
    told = "; ".join(
        f"beside {rival} " + ", ".join(f"{service} {_words(what)}" for service, what in lost[rival].items())
        for rival in marks
    )
    word = graded(list(marks.values()))
    return Verdict(CLAIM, word, f"given up: {told}", numbers(*found), run_ids=ids(own))


def _words(what: frozenset[str]) -> str:
    return " and ".join(name for name in WHAT if name in what) or "nothing"
