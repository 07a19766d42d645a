"""L4: an upload's TCP RTT halves with BBR and falls by almost an order of magnitude with CUBIC."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import CCAS, median, number, tcp_rtt_ms, tested
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, not_measured

FACTORS = {"bbr": (1.5, 3.0), "cubic": (5.0, 20.0)}
RTT = tcp_rtt_ms("load")

CLAIM = Claim(
    "L4",
    "Bulk upload: TCP RTT halves with BBR, falls by almost an order of magnitude with CUBIC",
    "Fig. 7b",
    "l04_bulk_upload.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Is remote over local RTT within 1.5 to 3 with BBR, and 5 to 20 with CUBIC?"""
    every = list(runs)
    numbers: list[Number] = []
    told: list[str] = []
    marks: list[bool] = []
    used: list[Observed] = []
    for cca in CCAS:
        both = {h: tested(every, "up", profile="fttc-30-10", cca=cca, home=h) for h in ("remote", "local")}
        found = {h: median(some, RTT) for h, some in both.items()}
        remote, local = found["remote"], found["local"]
        if remote is None or local is None:
            continue
        for h, some in both.items():
            used += some
            made = number("median TCP RTT", "ms", some, RTT, f"FTTC 30/10, {cca}, {h}")
            numbers += [made] if made else []
        low, high = FACTORS[cca]
        marks.append(low <= remote / local <= high)
        told.append(
            f"{cca}: {remote:.0f} to {local:.0f} ms, by {remote / local:.1f} ({low:g} to {high:g} are marks)"
        )
    if not marks:
        return not_measured(CLAIM, "no uploads with both bottlenecks")
    return Verdict(CLAIM, graded(marks), "; ".join(told), tuple(numbers), "FTTC 30/10", ids(used))
