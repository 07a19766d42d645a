"""L6: with RRUL best effort, local shares are equal, and remote ones differ by factors of 3 to 6."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import (
    CCAS,
    Evidence,
    apart,
    induced_ms,
    median,
    not_so,
    number,
    tested,
)
from narrows.judging.verdict import Claim, Verdict, not_measured

EQUAL = 1.2
APART = 3.0
CUT = 0.5

CLAIM = Claim(
    "L6",
    "RRUL best effort: the same trade at 4 and at 64 flows; local shares are equal, remote shares differ "
    "by factors of 3 to 6",
    "Fig. 9, 10",
    "l06_shares.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Fastest over slowest download of four, and the induced latency of 4 and 64."""
    every = list(runs)
    evidence = Evidence()
    marks = evidence.marks
    for flows in ("4", "64"):
        for cca in CCAS:
            both = {
                h: tested(every, "best_effort", profile="fttc-30-10", cca=cca, flows=flows, home=h)
                for h in ("remote", "local")
            }
            added = {h: median(some, induced_ms) for h, some in both.items()}
            remote, local = added["remote"], added["local"]
            if remote is None or local is None:
                continue
            marks[f"{flows} flows, {cca}: latency cut"] = local <= CUT * remote
            for h, some in both.items():
                of = f"FTTC 30/10, {flows} flows, {cca}, {h}"
                spread = median(some, apart)
                evidence.add(
                    some,
                    number("fastest over slowest download", "1", some, apart, of),
                    number("ICMP's induced RTT", "ms", some, induced_ms, of),
                )
                if flows == "4" and spread is not None:
                    equal = h == "local"
                    name = f"{cca}: {'local shares equal' if equal else 'remote shares apart'}"
                    marks[name] = spread <= EQUAL if equal else spread >= APART
    if not marks:
        return not_measured(CLAIM, "no RRUL with both bottlenecks")
    return evidence.verdict(
        CLAIM,
        f"equal is within {EQUAL:g}, apart is {APART:g} and more, cut is to {CUT:.0%} at most. "
        + not_so(marks),
        "FTTC 30/10",
    )
