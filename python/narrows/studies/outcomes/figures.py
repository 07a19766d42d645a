"""What the study's page draws: how each score ranks homes, and tells them apart, by service."""

from collections.abc import Callable, Sequence
from functools import partial

from narrows.figures.drawing import Result
from narrows.judging.parts import Judge
from narrows.runs.observed import Observed
from narrows.studies.drawing import COLOURS, Chart, draw, of_numbers
from narrows.studies.outcomes.claims import measures, o1, o2, o6, o8
from narrows.studies.outcomes.claims.measures import MARKS, SCORES
from narrows.studies.outcomes.testbed import LEVEL_UNITS

SECTION, LEAST = "Scores and services", "What is enough"
WORDS = {"rate": "rate", "rtt": "round trip", "loss": "random loss"}
FIGURES: tuple[tuple[str, str, Judge, str, str], ...] = (
    ("o1_ranks", "How scores rank homes", o1.judge, "rank correlation", "rank correlation with how it fares"),
    ("o2_apart", "How scores tell good homes from others", o2.judge, "area", "area under the ROC curve"),
    ("o8_opposite", "Equal scores, opposite outcomes", o8.judge, "opposite", "share of pairs of equal score"),
)


def figures(runs: Sequence[Observed]) -> list[tuple[str, Callable[[], Result]]]:
    """Each with its section."""
    return [
        *((SECTION, partial(dots, runs, *each)) for each in FIGURES),
        *((LEAST, partial(enough, runs, of)) for of in LEVEL_UNITS),
    ]


def enough(runs: Sequence[Observed], of: str) -> Result:
    """Up to where services are good on a path of which one thing is changed: a row for each."""
    verdict = o6.judge(runs)
    chart = Chart(
        f"o6_{of}", f"How much {WORDS[of]} is enough", ("service",),
        f"{WORDS[of]} [{LEVEL_UNITS[of]}]", "mark", "",
        {"service": tuple(MARKS), "mark": ("good", "usable")}, {}, {}, look="rows", log=True,
        told=f"{verdict.conditions}.", missing="no run of it: narrows run o3_breaks",
    )  # fmt: skip
    found = (number for number in verdict.numbers if number.conditions.get("of") == of)
    return draw(chart, of_numbers(found, measures.ENOUGH), verdict.run_ids)


def dots(runs: Sequence[Observed], name: str, title: str, judge: Judge, quantity: str, label: str) -> Result:
    """A number of a claim: a row for each score, a dot with its interval for each service."""
    verdict = judge(runs)
    panel = "mark" if quantity == "area" else ""
    chart = Chart(
        name, title, ("score",), label, "service", panel,
        {"score": SCORES, "service": tuple(MARKS), "mark": ("good", "usable")},
        {}, dict(zip(MARKS, COLOURS, strict=False)), look="rows",
        told=f"{verdict.conditions}.", missing=f"no run of it: narrows run {verdict.claim.name}",
    )  # fmt: skip
    return draw(chart, of_numbers(verdict.numbers, quantity), verdict.run_ids)
