"""C1: one TCP connection does not fill the link in a capacity test, parallel connections do."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.runs.observed import Observed
from narrows.studies.operator.claims.cases import by_key, filled, runs_of, values
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, median_of, not_measured

MAX_SHARE = 0.8  # "never more than 80 %"
FILLED = 0.9  # parallel connections fill the link

CLAIM = Claim(
    "C1",
    "One TCP connection does not fill the link (never above 80 % in their test, even at 10 Mbit/s); parallel "
    "connections do",
    "slide 5",
    "c1_one_connection.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Under each rate, queue, loss and CCA: the best run of one connection, the median of the most
    connections."""
    chosen = runs_of(runs, CLAIM.experiment)
    numbers: list[Number] = []
    short: dict[str, bool] = {}
    full: dict[str, bool] = {}
    for (rtt, queue, loss, cca), same in by_key(chosen, "base_rtt", "queue", "loss", "cca").items():
        words = f"{rtt}, {queue}, loss {loss}, {cca}"
        counts = {int(n): values(some, filled) for (n,), some in by_key(same, "connections").items()}
        if 1 not in counts or len(counts) < 2:
            continue
        for count, shares in counts.items():
            number = median_of("share of what TCP can carry", "1", shares, f"{words}, {count} connections")
            numbers += [] if number is None else [number]
        if counts[1].size and counts[max(counts)].size:
            short[words] = float(np.max(counts[1])) <= MAX_SHARE
            full[words] = float(np.median(counts[max(counts)])) >= FILLED
    if not short:
        return not_measured(CLAIM, "no runs with one connection and with several")
    reason = (
        f"one connection stays at or under {MAX_SHARE:.0%} in {_of(short)}; the most connections reach "
        f"{FILLED:.0%} in {sum(full.values())} of {len(full)} conditions"
    )
    return Verdict(
        CLAIM,
        graded([*short.values(), *full.values()]),
        reason,
        tuple(sorted(numbers, key=lambda n: n.value)),
        "ramp of 3 s left out, 10 s measured, 10 Mbit/s",
        ids(chosen),
    )


def _of(marks: dict[str, bool]) -> str:
    yes = [name for name, mark in marks.items() if mark]
    return f"{len(yes)} of {len(marks)} conditions ({'; '.join(yes) or 'none'})"
