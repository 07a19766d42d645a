"""T1: the Mathis constant depends on scale and flow count on losses, and not on halvings.

The thesis does not say how the RTT of a flow was taken. That moves both constants by one factor and so leaves
the verdict alone; the cause says what the RTT of a full queue would give.
"""

from collections.abc import Sequence

from narrows.judging.parts import Item, Mark, Measure, Numbers, Read, all_of, fold
from narrows.metrics.fairness.mathis_choices import FULL_QUEUE
from narrows.runs.observed import Observed
from narrows.studies.corescale.claims.measures import Flows, conditions, of_flows, spread

MIN_RATIO_ON_LOSSES = 1.3  # largest over smallest C of the conditions; the thesis': 3.95 / 1.78 = 2.2
MAX_RATIO_ON_HALVINGS = 1.2  # the thesis': 1.47 / 1.34 = 1.1
ON_LOSSES_APART = "largest over smallest C on losses"
ON_HALVINGS_APART = "largest over smallest C on halvings"
MIN_FLOWS = 10  # fitted to fewer, C says little


def full_queue(on: str) -> Read:
    """The constant with the RTT of a full queue in place of the mean."""

    def read(run: Observed) -> float | None:
        choices = () if run.many is None else run.many.mathis_choices
        return next((getattr(each, on) for each in choices if each.name == FULL_QUEUE), None)

    return read


ON_LOSSES = Measure("C on losses", "1", of_flows("mathis_on_losses", "c"))
ON_HALVINGS = Measure("C on halvings", "1", of_flows("mathis_on_halvings", "c"))
FULL_LOSSES = Measure("C on losses with the RTT of a full queue", "1", full_queue("on_losses"))
FULL_HALVINGS = Measure("C on halvings with the RTT of a full queue", "1", full_queue("on_halvings"))


def cause(_: Sequence[Item], found: Numbers) -> str:
    """What another reading of "RTT" gives, by scale; empty where a run cannot tell."""
    told = []
    for scale in dict.fromkeys(each.conditions["scale"] for each in all_of(found, FULL_LOSSES.name)):
        losses, halvings = (
            spread([each.value for each in all_of(found, of.name, scale=scale)])
            for of in (FULL_LOSSES, FULL_HALVINGS)
        )
        told.append(f"{scale} {losses} on losses, {halvings} on halvings")
    if not told:
        return ""
    return (
        f"With the RTT of a full queue (base + limit / rate) in place of the mean: {'; '.join(told)}. "
        "A choice of RTT, throughput or packet size moves both constants by one factor."
    )


judge = Flows(
    "T1",
    "Mathis C fitted on packet loss depends on flow count and setting (Edge 1.78; Core 3.95, 3.64, 3.24 at "
    "1000, 3000, 5000); on window halvings it does not (1.47; 1.36, 1.36, 1.34)",
    "Table 3.1",
    "t01_mathis_constant.py",
    items=conditions(lambda case: case.ccas == ("reno",) and case.flows >= MIN_FLOWS),
    measures=(ON_LOSSES, ON_HALVINGS, FULL_LOSSES, FULL_HALVINGS),
    derive=lambda found: (
        *fold(ON_LOSSES_APART, ON_LOSSES.name)(found), *fold(ON_HALVINGS_APART, ON_HALVINGS.name)(found)
    ),
    hidden=(FULL_LOSSES.name, FULL_HALVINGS.name),
    whole=(),
    marks=(
        Mark(
            f"on losses it varies {MIN_RATIO_ON_LOSSES:g}-fold and more", ON_LOSSES_APART,
            MIN_RATIO_ON_LOSSES,
        ),
        Mark(
            f"on halvings {MAX_RATIO_ON_HALVINGS:g}-fold at most", ON_HALVINGS_APART,
            most=MAX_RATIO_ON_HALVINGS,
        ),
    ),
    cause=cause,
    decided_by={"quantity": ("C on losses", "C on halvings")},
)  # fmt: skip
