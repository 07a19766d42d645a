"""What the claims T1 to T8 share: their runs, a quantity over repetitions, and how a verdict is worded.

A claim about CoreScale that was measured at smaller scales only can hold in part at best; what is missing is
named. How far each metric still moved at the end of its run is a number of the verdict like any other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from narrows.judging.verdict import Claim, Number, Verdict, Word, graded, median_of
from narrows.judging.words import percent
from narrows.metrics.statistics.settled import TOLERANCE
from narrows.runs.many_flows import ManyFlows, Settled
from narrows.runs.observed import Observed
from narrows.studies.corescale.case import Case, thesis_cases

MOVED = "metric still moved at the end, worst run"
"""The quantity that says how far from rest runs ended: it decides nothing by itself."""
Cases = dict[Case, list[Observed]]
ValueOf = Callable[[ManyFlows], float | None]
SettledOf = Callable[[ManyFlows], Settled | None]


def cases(runs: Iterable[Observed], wanted: Callable[[Case], bool], *, thesis_only: bool = True) -> Cases:
    """Runs by condition; `thesis_only` leaves out other buffers, queues, starts, offloads and mixed RTTs."""
    by_case = thesis_cases(runs)
    plain = {c: r for c, r in by_case.items() if not thesis_only or (c.is_thesis and len(c.rtts_ms) == 1)}
    return {case: same for case, same in plain.items() if wanted(case)}


def values(same: Sequence[Observed], value_of: ValueOf) -> list[float]:
    """One value per run, of those that have one."""
    maybe = [value_of(run.many) for run in same if run.many is not None]
    return [value for value in maybe if value is not None]


def medians(name: str, unit: str, chosen: Cases, value_of: ValueOf) -> dict[Case, Number]:
    """The median over repetitions of each condition that has a value; told if they are of several lengths."""
    made = {
        case: median_of(name, unit, values(same, value_of), _conditions(case, same))
        for case, same in chosen.items()
    }
    return {case: number for case, number in made.items() if number is not None}


def _conditions(case: Case, same: Sequence[Observed]) -> dict[str, str]:
    span = measured(same)
    return case.labels() | ({"runs of": span} if " to " in span else {})


def of_scale(numbers: Mapping[Case, Number], scale: str) -> list[float]:
    """The medians of all conditions of a scale."""
    return [number.value for case, number in numbers.items() if case.scale == scale]


def spread(of_conditions: Sequence[float]) -> str:
    """ "1.2 to 1.9", "1.2"; "none" of nothing."""
    if not of_conditions:
        return "none"
    low, high = f"{min(of_conditions):.3g}", f"{max(of_conditions):.3g}"
    return low if low == high else f"{low} to {high}"


def by_scale(chosen: Cases, told: Mapping[str, Mapping[Case, Number]]) -> list[str]:
    """`edge: on losses 1.5 to 1.8, on halvings 1.4` of each scale."""
    lines = []
    for scale in dict.fromkeys(case.scale for case in chosen):
        parts = [f"{name} {spread(of_scale(numbers, scale))}" for name, numbers in told.items()]
        lines.append(f"{scale}: {', '.join(parts)}")
    return lines


def moves(same: Iterable[Observed], settled_of: SettledOf) -> list[tuple[float, int]]:
    """How far the judged metric still moved (share of 1) and over how many ns, of each run that says."""
    return [
        (settled.moved, settled.over_ns)
        for run in same
        if run.many is not None
        and (settled := settled_of(run.many)) is not None
        and settled.moved is not None
    ]


def moved(chosen: Cases, settled_of: SettledOf) -> list[Number]:
    """How much the judged metric still moved at the end, worst of each scale's runs, in percent."""
    made = []
    for scale in dict.fromkeys(case.scale for case in chosen):
        runs = [run for case, same in chosen.items() if case.scale == scale for run in same]
        if moved_by := moves(runs, settled_of):
            worst, over_ns = max(moved_by)
            share = float(np.mean([value < 0.01 for value, _ in moved_by]))
            made.append(
                Number(
                    MOVED,
                    "%",
                    100 * worst,
                    len(moved_by),
                    {"scale": scale, "over the last": f"{over_ns / 1e9:.0f} s", "below 1 %": percent(share)},
                )
            )
    return made


def lengths(chosen: Cases) -> str:
    """The measured virtual time of each scale."""
    parts = []
    for scale in dict.fromkeys(case.scale for case in chosen):
        runs = [run for case, same in chosen.items() if case.scale == scale for run in same]
        parts.append(f"{scale} {measured(runs)} after warm-up")
    return "; ".join(parts)


def measured(runs: Iterable[Observed]) -> str:
    """The measured virtual time: "120 s", or "120 to 1200 s" of runs of several lengths."""
    seconds = {round(run.many.seconds) for run in runs if run.many is not None}
    low, high = min(seconds, default=0), max(seconds, default=0)
    return f"{low if low == high else f'{low} to {high}'} s"


def without(
    verdict: Verdict, chosen: Cases, needed: Sequence[str] = ("core",), *, claimed_too: bool = False
) -> Verdict:
    """Weaker words where a scale that the claim is about was not measured or a metric had not settled.

    What fails at a smaller scale alone says nothing of the scale that is claimed: that is not measured,
    unless the claim is also about the smaller scale (`claimed_too`): then it has failed there.
    """
    if verdict.verdict == "not measured":
        return verdict
    reason = f"{verdict.reason}; {repetitions(chosen)}"
    restless = [n for n in verdict.numbers if n.name == MOVED and n.value >= 100 * TOLERANCE]
    if restless:
        told = "; ".join(f"{n.conditions['scale']}, worst {n.value:.1f} %" for n in restless)
        reason += f"; not every metric had settled: {told}"
    missing = [scale for scale in needed if scale not in {case.scale for case in chosen}]
    word: Word = verdict.verdict
    if missing:
        failed: Word = "does not hold here" if claimed_too else "not measured"
        weaker: dict[Word, Word] = {"holds": "holds in part", "does not hold here": failed}
        word = weaker.get(word, word)
        reason += f"; not measured: {', '.join(missing)}"
    return dataclasses.replace(verdict, verdict=word, reason=reason)


def scaled_verdict(
    claim: Claim,
    chosen: Cases,
    parts: Sequence[bool],
    reason: str,
    numbers: Iterable[Number],
    cause: str = "",
    needed: Sequence[str] = ("edge", "core"),
) -> Verdict:
    """A verdict from conditions that settle by Jain's index."""
    verdict = Verdict(
        claim,
        graded(parts),
        reason,
        (*numbers, *moved(chosen, lambda m: m.jain_settled)),
        lengths(chosen),
        ids(runs_of(chosen)),
        cause,
    )
    return without(verdict, chosen, needed)


def ids(runs: Iterable[Observed]) -> tuple[str, ...]:
    """The runs a verdict rests on."""
    return tuple(sorted({run.run_id for run in runs}))


def repetitions(chosen: Cases) -> str:
    """How many runs each condition has, and that one run has no interval."""
    counts = sorted({len(same) for same in chosen.values()})
    each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"n = {each} of each condition" + (", one run has no interval" if counts[0] == 1 else "")


def runs_of(chosen: Cases) -> list[Observed]:
    """All runs of the conditions."""
    return [run for same in chosen.values() for run in same]
