"""L10: from such tests one can tell AQM, packet scheduling, QoS and the discipline of a remote bottleneck."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import (
    apart,
    class_rate_mbps,
    icmp_ms,
    median,
    number,
    tested,
)
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, not_measured

AQM_BELOW_MS = 100.0
FAIR_WITHIN = 1.5
CLASS_AHEAD = 1.5
TRUTH: dict[str, tuple[bool, bool, bool]] = {
    "fifo": (False, False, False),
    "head_drop": (False, False, False),
    "pfifo_fast": (False, False, False),  # to RRUL's code points: see L9
    "prio_cs5": (False, False, True),
    "codel": (True, False, False),
    "pie": (True, False, False),
    "fq_codel": (True, True, False),
    "cake": (True, True, True),
}
"""AQM, packet scheduling, QoS: what each discipline does."""
COLUMNS = ("AQM", "packet scheduling", "QoS")

CLAIM = Claim(
    "L10",
    "From such tests one can tell AQM, packet scheduling, QoS and the discipline of a remote bottleneck",
    "Table II",
    "l10_disciplines.py",
)


@dataclass(frozen=True)
class Answers:
    """What the rules say of one discipline, and the numbers and runs that they rest on."""

    said: tuple[bool, bool, bool]
    numbers: tuple[Number, ...]
    runs: tuple[Observed, ...]


def answers(runs: Iterable[Observed], isp: str) -> Answers | None:
    """The paper's rules as numbers: ICMP below 100 ms is AQM, equal downloads scheduling, CS5 ahead QoS. None
    where a test is missing."""
    every = list(runs)
    plain = tested(every, "best_effort", isp=isp, cca="cubic")
    marked = tested(every, "classes", isp=isp, cca="cubic", test="classes")
    rtt, spread = median(plain, icmp_ms()), median(plain, apart)
    ahead = median(marked, _ahead)
    if rtt is None or spread is None or ahead is None:
        return None
    numbers = [
        made
        for name, unit, some, read in (
            ("ICMP RTT", "ms", plain, icmp_ms()),
            ("fastest over slowest download", "1", plain, apart),
            ("CS5 over BE, upload", "1", marked, _ahead),
        )
        if (made := number(name, unit, some, read, isp)) is not None
    ]
    said = (rtt < AQM_BELOW_MS, spread <= FAIR_WITHIN, ahead >= CLASS_AHEAD)
    return Answers(said, tuple(numbers), (*plain, *marked))


def judge(runs: Iterable[Observed]) -> Verdict:
    """How many of the rules' answers are so, of disciplines that are known."""
    every = list(runs)
    numbers: list[Number] = []
    used: list[Observed] = []
    marks: dict[str, bool] = {}
    for isp, truth in TRUTH.items():
        found = answers(every, isp)
        if found is None:
            continue
        used += found.runs
        numbers += found.numbers
        for column, is_so, seen in zip(COLUMNS, truth, found.said, strict=True):
            marks[f"{isp}: {column} {'seen' if seen else 'not seen'}"] = is_so == seen
    if not marks:
        return not_measured(CLAIM, "no tests of disciplines that are known")
    failed = [name for name, mark in marks.items() if not mark]
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"{len(marks) - len(failed)} of {len(marks)} answers are right"
        + (f"; wrong: {'; '.join(failed)}" if failed else "")
        + ". The answers leave the discipline open: those of CoDel and of PIE are the same",
        tuple(numbers),
        "FTTC 30/10, CUBIC",
        ids(used),
    )


def _ahead(run: Observed) -> float | None:
    one, other = class_rate_mbps("CS5", "up")(run), class_rate_mbps("BE", "up")(run)
    return None if one is None or not other else one / other
