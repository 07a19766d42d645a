"""What the claims ask of a run: what each flow of media got in each phase, against what it could have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf

from narrows.metrics.fairness.jain import jain_index
from narrows.runs import phases
from narrows.runs.observed import Observed
from narrows.studies.media.chosen import chosen
from narrows.studies.media.testbed import MOST_BPS
from narrows.studies.verdict import Claim, Number, Verdict, graded, ids, median_of, not_measured, yes_of

LEAST_USE, MOST_USE = 0.5, 1.05
"""Of what a flow could have: it has converged to the capacity if it uses this much, and no more."""
EVEN = 0.9
"""Jain's index from which on flows share evenly."""
LEAST_PART, MOST_PART = 0.5, 1.5
"""Of what is due to flows of media beside TCP."""
OVERHEAD = 1.1
"""Of media: headers, sound and what is sent again come on top of the video's most."""
Found = Mapping[str, float | None]
"""What a run has of one number, by what is said behind its condition. None: not to be had of this run."""


def rates_bps(run: Observed, phase: int) -> list[float]:
    """Of the flows of media that were there all of a phase."""
    every = (run.quantity("phase_rate_bps", phases.of(item, phase)) for item in phases.calls(run))
    return [rate for rate in every if rate is not None]


def count(run: Observed) -> int:
    """Phases of a run."""
    return len(phases.phases(run))


def last_rates_bps(run: Observed, flows: int) -> list[float]:
    """In the last phase in which all flows are there; none if there is no such phase."""
    every = (rates_bps(run, n) for n in range(count(run), 0, -1))
    return next((rates for rates in every if len(rates) == flows), [])


def could_bps(run: Observed, phase: int, flows: int, part: float = 1.0) -> float:
    """What the flows could have together: their part of the capacity, or the most that they send."""
    return min(part * phases.capacity_bps(run, phase), flows * OVERHEAD * MOST_BPS)


def follows(runs: Iterable[Observed], claim: Claim, flows: int) -> Verdict:
    """Whether the use in the second half of every phase is that of who has converged."""

    def uses(run: Observed) -> Found:
        found = {}
        for n in range(1, count(run) + 1):
            rates = rates_bps(run, n)
            found[f", phase {n}"] = sum(rates) / could_bps(run, n, flows) if len(rates) == flows else None
        return found

    words = f"converged is {LEAST_USE:.0%} to {MOST_USE:.0%} in every phase"
    return _judged(runs, claim, "use of the capacity", uses, LEAST_USE, MOST_USE, words)


def even(runs: Iterable[Observed], claim: Claim, flows: int) -> Verdict:
    """Whether the flows share evenly in the last phase in which all are there."""

    def index(run: Observed) -> Found:
        return {"": jain_index(rates) if (rates := last_rates_bps(run, flows)) else None}

    return _judged(
        runs, claim, "Jain's index", index, EVEN, inf, f"even is a Jain's index of {EVEN} and more"
    )


def beside(runs: Iterable[Observed], claim: Claim, flows: int, part: float, of: str) -> Verdict:
    """Whether media get half to one and a half times their part beside TCP. `part`: of the capacity; `of`: in
    words."""

    def share(run: Observed) -> Found:
        rates = last_rates_bps(run, flows)
        return {"": sum(rates) / could_bps(run, count(run), flows, part) if rates else None}

    words = f"neither starves the other from half to one and a half of {of}"
    return _judged(runs, claim, "share of its part", share, LEAST_PART, MOST_PART, words)


def _judged(
    runs: Iterable[Observed],
    claim: Claim,
    name: str,
    values: Callable[[Observed], Found],
    least: float,
    most: float,
    words: str,
) -> Verdict:
    """Each program behind each queue is marked by the medians of its runs: all must be within, and where one
    of them is not to be had it is not marked, unless another is outside."""
    numbers: list[Number] = []
    marks, rests, left = {}, [], []
    for condition, own in chosen(runs, claim.name).items():
        label = " behind ".join(condition)
        of_runs = [values(run) for run in own]
        known = {
            suffix: median_of(name, "1", [one.get(suffix) for one in of_runs], f"{label}{suffix}")
            for suffix in dict.fromkeys(suffix for one in of_runs for suffix in one)
        }
        there = [number for number in known.values() if number is not None]
        numbers += there
        rests += own if there else []
        is_outside = any(not least <= number.value <= most for number in there)
        if is_outside or (there and len(there) == len(known)):
            marks[label] = not is_outside
        else:
            left.append(label)
    if not marks:
        what = (
            f"no run of the case that can be judged (not {', '.join(left)})" if left else "no run of the case"
        )
        return not_measured(claim, what)
    why = f"{words}: {yes_of(marks)}" + (f"; not to be judged: {', '.join(left)}" if left else "")
    return Verdict(claim, graded(list(marks.values())), why, tuple(numbers), words, ids(rests))
