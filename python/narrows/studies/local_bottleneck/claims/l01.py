"""L1: a little throughput buys a large cut in induced latency, more with CUBIC than with BBR."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import (
    CCAS,
    Evidence,
    goodput_mbps,
    induced_ms,
    median,
    not_so,
    number,
    tested,
)
from narrows.judging.verdict import Claim, Verdict, not_measured

KEPT = 0.90  # of the remote throughput: the local queue is set to 95 %
CUT = 0.5  # of the remote induced latency is left at most
PROFILES = ("fttc-30-10", "fwa-30-3")

CLAIM = Claim(
    "L1",
    "Bulk download: a little throughput buys a large cut in induced latency, more with CUBIC than with BBR",
    "Fig. 5a, 5c",
    "l01_bulk_download.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """For each profile: throughput kept, latency cut with each CCA, and by more milliseconds with CUBIC."""
    every = list(runs)
    evidence = Evidence()
    marks = evidence.marks
    for profile in PROFILES:
        cuts: dict[str, float] = {}
        for cca in CCAS:
            both = {h: tested(every, "down", profile=profile, cca=cca, home=h) for h in ("remote", "local")}
            rate = {h: median(some, goodput_mbps("down")) for h, some in both.items()}
            added = {h: median(some, induced_ms) for h, some in both.items()}
            if None in (*rate.values(), *added.values()):
                continue
            for h, some in both.items():
                of = f"{profile}, {cca}, {h}"
                evidence.add(
                    some,
                    number("ICMP's induced RTT", "ms", some, induced_ms, of),
                    number("goodput", "Mbit/s", some, goodput_mbps("down"), of),
                )
            marks[f"{profile}, {cca}: throughput kept"] = rate["local"] >= KEPT * rate["remote"]  # type: ignore[operator]
            marks[f"{profile}, {cca}: latency cut"] = added["local"] <= CUT * added["remote"]  # type: ignore[operator]
            cuts[cca] = added["remote"] - added["local"]  # type: ignore[operator]
        if len(cuts) == 2:
            marks[f"{profile}: more with CUBIC"] = cuts["cubic"] > cuts["bbr"]
    if not marks:
        return not_measured(CLAIM, "no downloads with both bottlenecks")
    return evidence.verdict(
        CLAIM,
        f"kept is {KEPT:.0%} of the remote goodput, cut is to {CUT:.0%} of the remote latency at most. "
        + not_so(marks),
        ", ".join(PROFILES),
    )
