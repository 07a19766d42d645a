"""T16: pages take twice as long at 50 Mbit/s and three times at 8."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.parts import figure, made_here, number, numbers, readings
from narrows.studies.prudentia.testbed import PAGES, RIVALS
from narrows.judging.verdict import Claim, Verdict, graded, ids, not_measured

LONGER = {"8Mbit": 3.0, "50Mbit": 2.0}
NEARLY = 0.8
"""So much of the claimed factor counts."""
HARDLY = 1.5
TIME = figure("page_visual_ms")

CLAIM = Claim(
    "T16",
    "page load times double at 50 Mbit/s and triple at 8 under contention (8 to 21 s for the page of many "
    "pictures; the text page hardly moves; BBR hurts least)",
    "section 4.3.3, Fig. 4.6",
    "t16_pages.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Time until 95 % of the visible region is painted, beside each rival over alone."""
    every = list(runs)
    marks, found = {}, []
    for rate, factor in LONGER.items():
        longer = {}
        for service in PAGES:
            base = readings(every, TIME, rate, service, None)
            for rival in RIVALS:
                beside = readings(every, TIME, rate, service, rival)
                if base and beside:
                    longer[service, rival] = float(np.median(beside) / np.median(base))
                    told = f"beside {rival}, {rate}; alone {np.median(base):.0f} ms"
                    found.append(number(f"{service}: time until 95 % is painted", "ms", beside, told))
        worst = [value for (service, _), value in longer.items() if service == "pictures"]
        if worst:
            marks[f"{rate}: pictures take {max(worst):.1f} times as long"] = max(worst) >= NEARLY * factor
        text = [value for (service, _), value in longer.items() if service == "text"]
        if text:
            marks[f"{rate}: text takes {max(text):.1f} times as long"] = max(text) <= HARDLY
        least = {rival: value for (service, rival), value in longer.items() if service == "pictures"}
        if len(least) > 1 and "bbr" in least:
            marks[f"{rate}: BBR hurts least"] = least["bbr"] == min(least.values())
    if not marks:
        return not_measured(CLAIM, "no page was loaded alone and beside a rival")
    own = [t.run for t in made_here(every) if set(t.pair) & set(PAGES)]
    told = "; ".join(f"{name}: {'so' if mark else 'not so'}" for name, mark in marks.items())
    return Verdict(CLAIM, graded(list(marks.values())), told, numbers(*found), run_ids=ids(own))
