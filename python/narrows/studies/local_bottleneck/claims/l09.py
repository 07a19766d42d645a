"""L9: an ISP with pfifo_fast gives CS5 more, and its RTT is still about 100 ms with BBR, 200 with CUBIC."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import (
    CCAS,
    Evidence,
    class_rate_mbps,
    median,
    number,
    tcp_rtt_ms,
    tested,
    yes_or_no,
)
from narrows.judging.verdict import Claim, Verdict, not_measured

MORE = 1.5
WANTED_MS = {"bbr": (50.0, 150.0), "cubic": (100.0, 400.0)}

CLAIM = Claim(
    "L9",
    "An ISP with pfifo_fast: CS5 gets more, yet its RTT is still about 100 ms with BBR and 200 ms with CUBIC",
    "Fig. 14",
    "l09_isp_priority.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """CS5 over BE in the uploads, and CS5's RTT. pfifo_fast decides; strict priority stands beside it."""
    every = list(runs)
    evidence = Evidence()
    marks = evidence.marks
    beside: dict[str, bool] = {}
    for isp in ("pfifo_fast", "prio_cs5"):
        for cca in CCAS:
            some = [
                r
                for r in tested(every, "classes", isp=isp, cca=cca)
                if r.link.home is not None and r.link.home.up is None
            ]
            more, less = (median(some, class_rate_mbps(c, "up")) for c in ("CS5", "BE"))
            rtt = median(some, tcp_rtt_ms("test.up-CS5"))
            if more is None or less is None or rtt is None:
                continue
            of = f"{isp}, {cca}"
            evidence.add(
                some,
                *(number(f"{c} upload", "Mbit/s", some, class_rate_mbps(c, "up"), of) for c in ("CS5", "BE")),
                number("CS5 RTT", "ms", some, tcp_rtt_ms("test.up-CS5"), of),
            )
            low, high = WANTED_MS[cca]
            into = marks if isp == "pfifo_fast" else beside
            into[f"{isp}, {cca}: CS5 gets more"] = more >= MORE * less
            into[f"{isp}, {cca}: RTT {low:g} to {high:g} ms"] = low <= rtt <= high
    if not marks:
        return not_measured(CLAIM, "no RRUL through pfifo_fast")
    return evidence.verdict(
        CLAIM,
        f"more is a factor of {MORE:g}. " + yes_or_no({**marks, **beside}),
        "FTTC 30/10, uploads, no local queue",
    )
