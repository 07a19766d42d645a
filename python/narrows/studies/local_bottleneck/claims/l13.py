"""L13: equal RTTs with unequal rates are the mark of a FIFO."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import (
    CCAS,
    Evidence,
    chosen,
    median,
    not_so,
    number,
    tcp_rtt_ms,
)
from narrows.judging.verdict import Claim, Verdict, not_measured

ALIKE = 1.2
ITEMS = tuple(f"upload-{n}" for n in range(4))

CLAIM = Claim(
    "L13",
    "Equal RTTs with unequal rates are the mark of a FIFO",
    "Fig. 11 against Fig. 10",
    "l13_fifo_signature.py",
)


def _rates(run: Observed) -> float | None:
    return _spread([run.figure(item, "bulk_goodput_bps", "up") for item in ITEMS])


def _rtts(run: Observed) -> float | None:
    return _spread([tcp_rtt_ms(item)(run) for item in ITEMS])


def _spread(found: list[float | None]) -> float | None:
    known = [value for value in found if value]
    return max(known) / min(known) if len(known) == len(ITEMS) else None


def judge(runs: Iterable[Observed]) -> Verdict:
    """Highest over lowest of four uploads, in rate and in RTT: a FIFO has the latter alone alike."""
    every = list(runs)
    evidence = Evidence()
    marks = evidence.marks
    for cca in CCAS:
        for home in ("remote", "local"):
            some = [r for r in chosen(every, cca=cca, home=home) if _rates(r) is not None]
            rates, rtts = median(some, _rates), median(some, _rtts)
            if rates is None or rtts is None:
                continue
            of = f"FTTC 30/10, {cca}, {home}"
            evidence.add(
                some,
                number("highest over lowest rate", "1", some, _rates, of),
                number("highest over lowest RTT", "1", some, _rtts, of),
            )
            if home == "remote":
                marks[f"{cca}: the FIFO's RTTs alike, rates not"] = rtts <= ALIKE < rates
            else:
                marks[f"{cca}: the local queue's rates alike"] = rates <= ALIKE
    if not marks:
        return not_measured(CLAIM, "no four uploads")
    return evidence.verdict(
        CLAIM,
        f"alike is within {ALIKE:g}. " + not_so(marks),
        "FTTC 30/10",
    )
