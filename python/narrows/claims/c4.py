"""C4: parallel connections, omit time and duration must be re-tuned when the AQM changes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.claims.cases import by_key, filled, runs_of, values
from narrows.claims.verdict import Claim, Number, Verdict, graded, ids, median_of, not_measured
from narrows.metrics.observed import Observed

GOOD = 0.95  # of the largest payload rate that the shaper allows
BEFORE = "fifo"

CLAIM = Claim(
    "C4",
    "Parallel connections, omit time and duration must be re-tuned when the AQM changes",
    "slide 10",
    "c4_parameters.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """For each AQM: is there a setting that is good with the FIFO and no longer is?"""
    chosen = runs_of(runs, CLAIM.experiment)
    numbers: list[Number] = []
    good: dict[str, set[str]] = {}
    settings: dict[str, set[str]] = {}
    for (queue,), some in by_key(chosen, "queue").items():
        good[queue], settings[queue] = set(), set()
        for (connections, omit, duration), same in by_key(some, "connections", "omit", "duration").items():
            setting = f"{connections} connections, omit {omit}, {duration}"
            shares = values(same, filled)
            number = median_of("share of what TCP can carry", "1", shares, f"{queue}, {setting}")
            if number is None:
                continue
            numbers.append(number)
            settings[queue].add(setting)
            if float(np.median(shares)) >= GOOD:
                good[queue].add(setting)
    others = [queue for queue in good if queue != BEFORE]
    if BEFORE not in good or not others:
        return not_measured(CLAIM, "no settings with a FIFO and with an AQM")
    lost, told = {}, []
    for queue in others:
        shared = settings[queue] & settings[BEFORE]
        gone = (good[BEFORE] - good[queue]) & shared
        new = (good[queue] - good[BEFORE]) & shared
        lost[queue] = bool(gone)
        parts = [f"no longer good: {'; '.join(sorted(gone)) or 'none'}"]
        parts += [f"newly good: {'; '.join(sorted(new))}"] if new else []
        told.append(f"{queue} ({', '.join(parts)})")
    return Verdict(
        CLAIM,
        graded(list(lost.values())),
        f"of {len(settings[BEFORE])} settings {len(good[BEFORE])} read at least {GOOD:.0%} with the FIFO; "
        f"with {'; '.join(told)}",
        tuple(numbers),
        "20 Mbit/s, base RTT 20 ms, a FIFO of 50 ms",
        ids(chosen),
        "The ramp weighs more the shorter the test: what is left in by omitting nothing is slow start, and "
        "with an AQM what one connection loses to its first drop besides.",
    )
