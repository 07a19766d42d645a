"""T5: BBR flows are unfair to each other. Contested, so every factor that was varied is reported."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from narrows.judging.verdict import Claim, Number, Verdict, graded, not_measured
from narrows.metrics.statistics.settled import TOLERANCE
from narrows.runs.observed import Observed
from narrows.studies.corescale.case import Case
from narrows.studies.corescale.claims.drained import by_drain
from narrows.studies.corescale.claims.many import (
    Cases,
    cases,
    ids,
    lengths,
    medians,
    moved,
    moves,
    runs_of,
    values,
    without,
)

MAX_JAIN_AT_CORE = 0.5  # "as low as 0.4"
MAX_JAIN_AT_EDGE = 0.75  # "as low as 0.7", beyond 10 flows
EDGE_FLOWS = 10
OUR_KERNEL = "HZ=1000"
THESIS = "the thesis'"

CLAIM = Claim(
    "T5",
    "BBR against itself: Jain's index down to 0.4 at Core, 0.7 beyond 10 flows at Edge",
    "Figure 3.4",
    "t05_bbr_against_itself.py",
    decided_by={"quantity": "Jain's index", "case": THESIS},
)

FACTORS: dict[str, Callable[[Case], str]] = {
    "base RTT": lambda case: case.rtt,
    "flows": lambda case: str(case.flows),
    "start": lambda case: case.start,
    "buffer": lambda case: f"× {case.buffer:g}" if case.buffer is not None else case.queue,
    "offloads": lambda case: case.offloads,
    "timers": lambda case: case.timers,
    "kernel": lambda case: case.kernel or OUR_KERNEL,
}


def judge(runs: Iterable[Observed]) -> Verdict:
    """The lowest median index of the thesis' conditions; the cause says what it hangs on."""
    everything = cases(runs, lambda case: case.ccas == ("bbr",), thesis_only=False)
    chosen = cases(runs, lambda case: case.ccas == ("bbr",))
    found = medians("Jain's index", "1", everything, lambda m: m.jain)
    found = {
        case: replace(n, conditions={**n.conditions, "case": THESIS}) if case in chosen else n
        for case, n in found.items()
    }
    plain = {case: number for case, number in found.items() if case in chosen}
    if not plain:
        return not_measured(CLAIM, "no condition of BBR flows alone")
    core = {case: n for case, n in plain.items() if case.scale == "core"}
    edge = {case: n for case, n in plain.items() if case.scale == "edge" and case.flows > EDGE_FLOWS}
    parts = []
    words = []
    for name, own, mark in (("core", core, MAX_JAIN_AT_CORE), ("edge", edge, MAX_JAIN_AT_EDGE)):
        if own:
            case, lowest = min(own.items(), key=lambda each: each[1].value)
            parts.append(lowest.value <= mark)
            still = _still_moved(chosen[case])
            words.append(f"lowest at {name}: {lowest.value:.3f} ({case.words()}{still}; mark {mark:g})")
    if not parts:
        return not_measured(CLAIM, f"no condition at Core, or of more than {EDGE_FLOWS} flows at Edge")
    verdict = Verdict(
        CLAIM,
        graded(parts),
        "; ".join(words),
        (*found.values(), *moved(everything, lambda m: m.jain_settled)),
        lengths(everything),
        ids(runs_of(everything)),
        f"{_cause(everything)} {by_drain(chosen, 'index', lambda m: m.jain)}".strip(),
    )
    return without(verdict, chosen, claimed_too=bool(edge))


def effects(chosen: Cases) -> list[tuple[str, str, float, int]]:
    """For each level of each factor: the median difference of the index to the same condition at the factor's
    other levels, and the number of such pairs. Only conditions that differ in nothing else are compared."""
    index = {
        case: float(np.median(found))
        for case, same in chosen.items()
        if (found := values(same, lambda m: m.jain))
    }
    made = []
    for factor, level_of in FACTORS.items():
        groups: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
        for case, value in index.items():
            others = (of(case) for name, of in FACTORS.items() if name != factor)
            rest = (case.scale, case.variant, case.besides, *others)
            groups[rest][level_of(case)] = value
        differences: dict[str, list[float]] = defaultdict(list)
        for levels in groups.values():
            for level, value in levels.items():
                differences[level] += [value - other for name, other in levels.items() if name != level]
        made += [
            (factor, level, float(np.median(d)), len(d)) for level, d in sorted(differences.items()) if d
        ]
    return made


def _still_moved(same: Sequence[Observed]) -> str:
    """What makes the number that is named less than final, if anything does."""
    worst, over_ns = max(moves(same, lambda m: m.jain_settled), default=(0.0, 0))
    words = f", which still moved by {worst:.0%} in the last {over_ns / 1e9:.0f} s"
    return words if worst >= TOLERANCE else ""


def _cause(chosen: Cases) -> str:
    found = effects(chosen)
    if not found:
        return "Only one level of each factor was measured, so what it hangs on is not known."
    by_factor: dict[str, list[str]] = defaultdict(list)
    for factor, level, difference, pairs in found:
        by_factor[factor].append(f"{level} {difference:+.3f} ({pairs})")
    untold = (
        "" if "kernel" in by_factor else f" HZ was not varied: it is part of the kernel ({OUR_KERNEL} here)."
    )
    cause = "; ".join(f"{factor}: {', '.join(levels)}" for factor, levels in by_factor.items())
    return (
        "What it hangs on: median difference of Jain's index to the same condition at the factor's other "
        f"levels (number of comparisons): {cause}.{untold}"
    )


__all__ = ["CLAIM", "Number", "effects", "judge"]
