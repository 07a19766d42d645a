"""What R7, R8 and R9 share: how much a test's instantaneous upload throughput varies, per qdisc."""

from __future__ import annotations

from dataclasses import dataclass

from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.evidence import by, variations
from narrows.judging.verdict import Number, median_of


@dataclass(frozen=True)
class Steadiness:
    """Variation of one condition."""

    queue: str
    burst: str
    number: Number


def upload_variation(chosen: list[Observed]) -> list[Steadiness]:
    """Median over repetitions of the coefficient of variation of the test's own 10 ms bins."""
    found = []
    for (rate, burst, cross, queue), same in by(chosen, "rate_mbps", "burst", "cross", "queue").items():
        words = f"{rate:g} Mbit/s, {queue}, burst {burst}, cross {cross}, upload"
        number = median_of("variation of throughput, 10 ms bins", "1", variations(same, "up"), words)
        if number is not None:
            found.append(Steadiness(str(queue), str(burst), number))
    return found


def say(steadiness: list[Steadiness]) -> str:
    """ "fq_codel (text) 0.021, …"."""
    return ", ".join(f"{s.queue} ({s.burst}) {s.number.value:.3f}" for s in steadiness)
