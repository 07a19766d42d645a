"""What the study's page draws: chapter 3 of Philip's thesis, what BBR's fairness depends on, and time."""

from collections.abc import Callable, Sequence
from functools import partial

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
    over_time = (list(thesis_cases(runs).items()), is_thesis)
    for draw, name, title, *more in (
        (fairness_by_buffer, "fairness_buffer", "What BBR's fairness to itself depends on"),
        (fairness_by_occupancy, "fairness_occupancy", "When BBR is unfair to itself"),
        (shares_by_queue, "shares_queue", "What the queue makes of CCAs that meet"),
        (fairness_over_time, "fairness_time", "Fairness over time", *over_time),
        (shares_over_time, "shares_time", "Shares over time", *over_time),
    ):
        made.append((BESIDES, partial(draw, runs, name, title, *more)))
    return made
