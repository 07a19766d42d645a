"""L11: open in the paper: what a local queue at a fixed rate does when the ISP's rate moves."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import (
    CCAS,
    Evidence,
    goodput_mbps,
    isp_sojourn_ms,
    median,
    number,
    tested,
)
from narrows.judging.verdict import Claim, Verdict, not_measured

KEPT_MS = 20.0
ROUTERS = ("remote", "local", "half", "autorate")
PROFILES = ("lte", "leo")
P95 = isp_sojourn_ms("down", 95)

CLAIM = Claim(
    "L11",
    "Open: an adaptive shaper when the ISP's rate moves; several users; 5G and satellite",
    "V.E",
    "l11_moving_rate.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Is the ISP's queue within 20 ms (p95) with a local queue at fixed rates, and with CAKE's autorate?"""
    every = list(runs)
    evidence = Evidence()
    marks = evidence.marks
    for profile in PROFILES:
        for cca in CCAS:
            for home in ROUTERS:
                some = tested(every, "down", profile=profile, cca=cca, home=home)
                sojourn_ms, of = median(some, P95), f"{profile}, {cca}, {home}"
                if sojourn_ms is None:
                    continue
                evidence.add(
                    some,
                    number("sojourn at the ISP, p95", "ms", some, P95, of),
                    number("goodput", "Mbit/s", some, goodput_mbps("down"), of),
                )
                if home != "remote":
                    marks[of] = sojourn_ms <= KEPT_MS
    if not marks:
        return not_measured(CLAIM, "no moving rates with a local queue")
    kept = [name for name, mark in marks.items() if mark]
    return evidence.verdict(
        CLAIM,
        f"the bottleneck stays at home (p95 at the ISP within {KEPT_MS:g} ms) in {len(kept)} of {len(marks)} "
        f"cases: {'; '.join(kept) or 'none'}",
        "synthetic LTE and low Earth orbit",
    )
