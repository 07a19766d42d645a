"""T13: calls trade resolution, frame rate and freezes differently."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.parts import figure, made_here, number, numbers, readings
from narrows.studies.prudentia.testbed import CALLS, RIVALS
from narrows.studies.verdict import Claim, Verdict, ids, not_measured

RATE = "8Mbit"
WHAT = {
    "height": ("call_height", "down", "1"),
    "frames a second": ("call_frame_rate", "down", "1/s"),
    "freezes a minute": ("call_freezes_per_min", "down", "1/min"),
}

CLAIM = Claim(
    "T13",
    "calls trade resolution, frame rate and freezes differently under contention",
    "section 4.3.1, Fig. 4.5, Table 4.2",
    "t13_calls.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """The numbers of each call alone and beside each rival. Both calls are one program, so whose trade it is
    cannot be told apart here."""
    every = list(runs)
    found = []
    for service in CALLS:
        for rival in (None, *RIVALS):
            for name, (key, way, unit) in WHAT.items():
                values = readings(every, figure(key, way), RATE, service, rival)
                if np.array(values).size:
                    found.append(
                        number(f"{service}: {name}", unit, values, f"beside {rival or 'nobody'}, {RATE}")
                    )
    if not found:
        return not_measured(CLAIM, "no call was made at 8 Mbit/s")
    own = [t.run for t in made_here(every) if set(t.pair) & set(CALLS) and t.run.key.get("rate") == RATE]
    reason = "both calls are Chromium's WebRTC with another cap: what other programs trade is not to be seen"
    return Verdict(CLAIM, "not testable here", reason, numbers(*found), run_ids=ids(own))
