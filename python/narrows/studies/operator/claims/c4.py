"""C4: parallel connections, omit time and duration must be re-tuned when the AQM changes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.runs.observed import Observed
from narrows.studies.operator.claims.cases import by_key, filled, runs_of, values
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, median_of, not_measured

GOOD = 0.95  # of the largest payload rate that the shaper allows
BEFORE = "fifo"

CLAIM = Claim(
    "C4",
    "Parallel connections, omit time and duration must be re-tuned when the AQM changes",
    "slide 10",
    "c4_parameters.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """For each base RTT and AQM: is there a setting that is good with the FIFO and no longer is?"""
    chosen = runs_of(runs, CLAIM.experiment)
    numbers: list[Number] = []
    lost: dict[str, bool] = {}
    told: list[str] = []
    for rtt_ms in sorted({run.link.base_rtt_ns / 1e6 for run in chosen}):
        some = [run for run in chosen if run.link.base_rtt_ns / 1e6 == rtt_ms]
        by_queue = _shares(some, f"{rtt_ms:g} ms", numbers)
        before = by_queue.pop(BEFORE, {})
        for queue, now in by_queue.items():
            shared = before.keys() & now.keys()
            if not shared:
                continue
            gone = sorted(s for s in shared if before[s] >= GOOD > now[s])
            new = sorted(s for s in shared if now[s] >= GOOD > before[s])
            bad = sorted(s for s in shared if before[s] < GOOD and now[s] < GOOD)
            lost[f"{rtt_ms:g} ms, {queue}"] = bool(gone)
            parts = [f"no longer good: {'; '.join(gone) or 'none'}"]
            parts += [f"newly good: {'; '.join(new)}"] if new else []
            parts += [f"good with neither: {'; '.join(bad)}"] if bad else []
            told.append(f"{rtt_ms:g} ms, {queue}: of {len(shared)} settings {', '.join(parts)}")
    if not lost:
        return not_measured(CLAIM, "no settings with a FIFO and with an AQM")
    return Verdict(
        CLAIM,
        graded(list(lost.values())),
        f"a setting is good where it reads {GOOD:.0%} of what TCP can carry. Against the FIFO: "
        + ". ".join(told),
        tuple(sorted(numbers, key=lambda n: n.value)),
        "20 Mbit/s, a FIFO of 50 ms",
        ids(chosen),
    )


def _shares(some: list[Observed], rtt: str, numbers: list[Number]) -> dict[str, dict[str, float]]:
    """Median share by queue and setting."""
    found: dict[str, dict[str, float]] = {}
    for (queue,), of_queue in by_key(some, "queue").items():
        for (connections, omit, duration), same in by_key(
            of_queue, "connections", "omit", "duration"
        ).items():
            setting = f"{connections} connections, omit {omit}, {duration}"
            shares = values(same, filled)
            number = median_of("share of what TCP can carry", "1", shares, f"{rtt}, {queue}, {setting}")
            if number is not None:
                numbers.append(number)
                found.setdefault(queue, {})[setting] = float(np.median(shares))
    return found
