"""L16: 5 % below the measured rate is enough."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import CCAS, chosen, filled, isp_sojourn_ms, median, number
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, not_measured

KEPT_MS = 10.0
CLAIMED = "95%"
SHARES = ("80%", "90%", "95%", "98%", "99%", "100%")

CLAIM = Claim("L16", "5 % below the measured rate is enough", "III, swept here", "l16_margin.py")


def judge(runs: Iterable[Observed]) -> Verdict:
    """Is p95 in the ISP's queue within 10 ms, each way, at 95 %? And from which share on is it not?"""
    every = list(runs)
    numbers: list[Number] = []
    marks: dict[tuple[str, str], bool] = {}
    used: list[Observed] = []
    for share in SHARES:
        for cca in CCAS:
            some = chosen(every, share=share, cca=cca)
            worst = [median(some, isp_sojourn_ms(way, 95)) for way in ("down", "up")]
            if None in worst:
                continue
            used += some
            for way in ("down", "up"):
                of = f"{share}, {cca}, {way}"
                made = (number("sojourn at the ISP, p95", "ms", some, isp_sojourn_ms(way, 95), of),
                        number("goodput over what is possible", "1", some, filled(way), of))  # fmt: skip
                numbers += [n for n in made if n]
            marks[share, cca] = max(w for w in worst if w is not None) <= KEPT_MS
    deciding = [mark for (share, _), mark in marks.items() if share == CLAIMED]
    if not deciding:
        return not_measured(CLAIM, "no local queue at 95 %")
    kept = ", ".join(f"{share} {cca}" for (share, cca), mark in marks.items() if mark)
    return Verdict(
        CLAIM,
        graded(deciding),
        f"the ISP's queue stays within {KEPT_MS:g} ms (p95, both ways) at: {kept or 'none'}",
        tuple(numbers),
        "FTTC 30/10, RRUL best effort, 4 flows each way",
        ids(used),
    )
