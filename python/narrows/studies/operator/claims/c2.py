"""C2: DOCSIS-PIE halves the loaded latency of classic traffic, from about 50 ms to about 25 ms."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.runs.observed import Observed
from narrows.studies.operator.claims.cases import (
    SETTLING_S,
    by_key,
    loaded_rtt_ms,
    reading_bps,
    runs_of,
    sojourn_ms,
    values,
)
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, median_of, not_measured

BEFORE_MS = (40, 60)  # "about 50 ms"
AFTER_MS = (20, 30)  # "about 25 ms"
MAX_RATIO = 0.6  # "halves"
LIKE_THEIRS = "fifo_35ms"
AQM = "docsis_pie"

CLAIM = Claim(
    "C2",
    "DOCSIS-PIE halves classic loaded latency, about 50 ms to about 25 ms",
    "slide 8",
    "c2_docsis_pie.py",
    decided_by=r"probe, median.*(fifo_35ms|docsis_pie)",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """The probe's median RTT in the steady state of the capacity test, per rate and queue."""
    chosen = runs_of(runs, CLAIM.experiment)
    numbers: list[Number] = []
    passed: list[bool] = []
    told: list[str] = []
    for (rate,), some in by_key(chosen, "rate").items():
        medians = {}
        for (queue,), same in by_key(some, "queue").items():
            words = f"{rate}, {queue}, base RTT 15 ms, 4 connections"
            rtt = values(same, lambda r: loaded_rtt_ms(r, "probe", "test.down"))
            tail = values(same, lambda r: loaded_rtt_ms(r, "probe", "test.down", 99))
            found = (
                median_of("loaded RTT of the probe, median", "ms", rtt, words),
                median_of("loaded RTT of the probe, p99", "ms", tail, words),
                median_of("sojourn of the test's packets, median", "ms", values(same, _sojourn), words),
                median_of("reading of the test", "Mbit/s", values(same, _mbps), words),
            )
            numbers += [n for n in found if n is not None]
            if rtt.size:
                medians[queue] = float(np.median(rtt))
        if LIKE_THEIRS in medians and AQM in medians:
            before, after = medians[LIKE_THEIRS], medians[AQM]
            passed += [
                BEFORE_MS[0] <= before <= BEFORE_MS[1],
                AFTER_MS[0] <= after <= AFTER_MS[1],
                after <= MAX_RATIO * before,
            ]
            deeper = [f"{q} {m:.0f} ms" for q, m in medians.items() if q not in (LIKE_THEIRS, AQM)]
            told.append(f"{rate}: {before:.1f} ms to {after:.1f} ms (deeper buffers: {', '.join(deeper)})")
    if not passed:
        return not_measured(CLAIM, f"no runs with {LIKE_THEIRS} and {AQM}")
    return Verdict(
        CLAIM,
        graded(passed),
        "; ".join(told),
        tuple(numbers),
        f"base RTT 15 ms, {SETTLING_S:g} s of ramp left out",
        ids(chosen),
    )


def _sojourn(run: Observed) -> float | None:
    return sojourn_ms(run, "test.down")


def _mbps(run: Observed) -> float | None:
    reading = reading_bps(run)
    return None if reading is None else reading / 1e6
