"""What the study's page draws: chapter 3 of Philip's thesis, what BBR's fairness depends on, and time."""

from collections.abc import Callable, Sequence

from narrows.figures.drawing import Result
from narrows.figures.settling import fairness_over_time, shares_over_time
from narrows.runs.flow_case import FlowCase
from narrows.runs.observed import Observed
from narrows.studies.corescale.case import Case, thesis_cases
from narrows.studies.corescale.chapter3 import chapter3_figures
from narrows.studies.corescale.fairness_by_buffer import fairness_by_buffer
from narrows.studies.corescale.fairness_by_occupancy import fairness_by_occupancy
from narrows.studies.corescale.shares_by_queue import shares_by_queue

CHAPTER, BESIDES = "Chapter 3 of the thesis", "Beyond the thesis"


def is_thesis(case: FlowCase) -> bool:
    """Whether a condition is one of the thesis'; these go first where there is not room for all."""
    return isinstance(case, Case) and case.is_thesis


def figures(runs: Sequence[Observed]) -> list[tuple[str, Callable[[], Result]]]:
    """Each figure with its section; none at all if no run has a flow tap."""
    made: list[tuple[str, Callable[[], Result]]] = [(CHAPTER, make) for make in chapter3_figures(runs)]
    if not made:
        return []
    cases = list(thesis_cases(runs).items())
    buffer, full = "What BBR's fairness to itself depends on", "When BBR is unfair to itself"
    queue, fairness, shares = (
        "What the queue makes of CCAs that meet",
        "Fairness over time",
        "Shares over time",
    )
    return [
        *made,
        (BESIDES, lambda: fairness_by_buffer(runs, "fairness_buffer", buffer)),
        (BESIDES, lambda: fairness_by_occupancy(runs, "fairness_occupancy", full)),
        (BESIDES, lambda: shares_by_queue(runs, "shares_queue", queue)),
        (BESIDES, lambda: fairness_over_time(runs, "fairness_time", fairness, cases, is_thesis)),
        (BESIDES, lambda: shares_over_time(runs, "shares_time", shares, cases, is_thesis)),
    ]
