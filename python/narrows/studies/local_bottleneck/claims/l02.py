"""L2: over a satellite BBR outperforms CUBIC; locally CUBIC does not fill the link."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import CCAS, filled, median, number, tested
from narrows.studies.verdict import Claim, Number, Verdict, graded, ids, not_measured

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
    numbers: list[Number] = []
    marks: dict[str, bool] = {}
    used: list[Observed] = []
    for profile in PROFILES:
        share: dict[tuple[str, str], float] = {}
        for cca in CCAS:
            for home in ("remote", "local"):
                some = tested(every, "down", profile=profile, cca=cca, home=home)
                found = median(some, filled("down"))
                made = number(
                    "goodput over what is possible", "1", some, filled("down"), f"{profile}, {cca}, {home}"
                )
                if found is not None and made is not None:
                    share[cca, home] = found
                    numbers.append(made)
                    used += some
        if len(share) == 4:
            marks[f"{profile}: BBR ahead remotely"] = share["bbr", "remote"] > share["cubic", "remote"]
            marks[f"{profile}: CUBIC does not fill the local link"] = share["cubic", "local"] < FULL
    if not marks:
        return not_measured(CLAIM, "no downloads over a satellite")
    failed = [name for name, mark in marks.items() if not mark]
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"full is {FULL:.0%}. " + (f"Not so: {'; '.join(failed)}" if failed else "All are so"),
        tuple(numbers),
        ", ".join(PROFILES),
        ids(used),
    )
