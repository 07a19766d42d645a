"""L13: equal RTTs with unequal rates are the mark of a FIFO."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import CCAS, chosen, median, number, tcp_rtt_ms
from narrows.studies.verdict import Claim, Number, Verdict, graded, ids, not_measured

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
    numbers: list[Number] = []
    marks: dict[str, bool] = {}
    used: list[Observed] = []
    for cca in CCAS:
        for home in ("remote", "local"):
            some = [r for r in chosen(every, cca=cca, home=home) if _rates(r) is not None]
            rates, rtts = median(some, _rates), median(some, _rtts)
            if rates is None or rtts is None:
                continue
            used += some
            of = f"FTTC 30/10, {cca}, {home}"
            made = (number("highest over lowest rate", "1", some, _rates, of),
                    number("highest over lowest RTT", "1", some, _rtts, of))  # fmt: skip
            numbers += [n for n in made if n]
            if home == "remote":
                marks[f"{cca}: the FIFO's RTTs alike, rates not"] = rtts <= ALIKE < rates
            else:
                marks[f"{cca}: the local queue's rates alike"] = rates <= ALIKE
    if not marks:
        return not_measured(CLAIM, "no four uploads")
    failed = [name for name, mark in marks.items() if not mark]
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"alike is within {ALIKE:g}. " + (f"Not so: {'; '.join(failed)}" if failed else "All are so"),
        tuple(numbers),
        "FTTC 30/10",
        ids(used),
    )
