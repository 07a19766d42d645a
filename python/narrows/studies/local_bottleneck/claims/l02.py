"""L2: over a satellite BBR outperforms CUBIC; locally CUBIC does not fill the link."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import (
    CCAS,
    Evidence,
    filled,
    not_so,
    number,
    tested,
)
from narrows.judging.verdict import Claim, Verdict, not_measured

FULL = 0.90
PROFILES = ("geo", "leo")

CLAIM = Claim(
    "L2",
    "Satellite: BBR outperforms CUBIC in throughput; locally CUBIC does not fill the link",
    "Fig. 5b",
    "l02_satellite.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """In each orbit: is remote BBR faster than remote CUBIC, and local CUBIC below 90 % of the possible?"""
    every = list(runs)
    evidence = Evidence()
    marks = evidence.marks
    for profile in PROFILES:
        share: dict[tuple[str, str], float] = {}
        for cca in CCAS:
            for home in ("remote", "local"):
                some = tested(every, "down", profile=profile, cca=cca, home=home)
                goodput = number(
                    "goodput over what is possible", "1", some, filled("down"), f"{profile}, {cca}, {home}"
                )
                if goodput is not None:
                    share[cca, home] = goodput.value
                    evidence.add(some, goodput)
        if len(share) == 4:
            marks[f"{profile}: BBR ahead remotely"] = share["bbr", "remote"] > share["cubic", "remote"]
            marks[f"{profile}: CUBIC does not fill the local link"] = share["cubic", "local"] < FULL
    if not marks:
        return not_measured(CLAIM, "no downloads over a satellite")
    return evidence.verdict(
        CLAIM,
        f"full is {FULL:.0%}. " + not_so(marks),
        ", ".join(PROFILES),
    )
