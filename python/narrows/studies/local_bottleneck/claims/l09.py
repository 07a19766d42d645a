"""L9: an ISP with pfifo_fast gives CS5 more, and its RTT is still about 100 ms with BBR, 200 with CUBIC."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import (
    CCAS,
    class_rate_mbps,
    median,
    number,
    tcp_rtt_ms,
    tested,
)
from narrows.studies.verdict import Claim, Number, Verdict, graded, ids, not_measured

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
    numbers: list[Number] = []
    marks: dict[str, bool] = {}
    beside: dict[str, bool] = {}
    used: list[Observed] = []
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
            used += some
            for c in ("CS5", "BE"):
                made = number(f"{c} upload", "Mbit/s", some, class_rate_mbps(c, "up"), f"{isp}, {cca}")
                numbers += [made] if made else []
            made = number("CS5 RTT", "ms", some, tcp_rtt_ms("test.up-CS5"), f"{isp}, {cca}")
            numbers += [made] if made else []
            low, high = WANTED_MS[cca]
            into = marks if isp == "pfifo_fast" else beside
            into[f"{isp}, {cca}: CS5 gets more"] = more >= MORE * less
            into[f"{isp}, {cca}: RTT {low:g} to {high:g} ms"] = low <= rtt <= high
    if not marks:
        return not_measured(CLAIM, "no RRUL through pfifo_fast")
    so = {**marks, **beside}
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"more is a factor of {MORE:g}. " + "; ".join(f"{n}: {'yes' if m else 'no'}" for n, m in so.items()),
        tuple(numbers),
        "FTTC 30/10, uploads, no local queue",
        ids(used),
        "Linux' pfifo_fast chooses its band by four bits of the old TOS byte, in which CS5, EF, CS1 and CS0 "
        "are alike: to RRUL's classes it is a FIFO. The paper's ISP has another scheduler.",
    )
