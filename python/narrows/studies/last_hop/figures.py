"""What the study's page draws: readings, delays and services, by medium and by where the queue stands."""

from collections.abc import Callable, Sequence
from functools import partial

from narrows.figures.drawing import Result
from narrows.judging.parts import Judge, Measure
from narrows.runs.observed import Observed
from narrows.studies.drawing import COLOURS, Chart, draw, of_numbers
from narrows.studies.last_hop.claims import b1, b2, b3, b4, b5
from narrows.studies.last_hop.claims.measures import MET_P50, MET_P95, RATES, READING, USED
from narrows.studies.last_hop.testbed import NAMES, PLACES

SECTION = "The last hop"
WHERE = {"device": "queue in the device", "router": "queue at the router", "cake90": "CAKE at 90 %"}
CALLED = WHERE | {who: who.replace("_", " ") for who in RATES}
FIGURES: tuple[tuple[str, str, Judge, Measure, str, float], ...] = (
    ("b1_readings", "What speed tests read of what is carried", b1.judge, READING,
     "reading, % of what is carried", 0.01),
    ("b2_delays", "What others meet while a test runs", b2.judge, MET_P50, "median round trip [ms]", 1.0),
    ("b3_goodput", "What flows use of what is carried", b3.judge, USED,
     "goodput, % of what is carried", 0.01),
    ("b4_delays", "What others meet beside a flow", b4.judge, MET_P95, "p95 round trip [ms]", 1.0),
    ("b5_video", "A video beside a download", b5.judge, b5.MEAN, "mean bitrate [Mbit/s]", 1e6),
    ("b5_call", "A call beside a download", b5.judge, b5.LINES, "lines of the picture", 1.0),
)  # fmt: skip


def figures(runs: Sequence[Observed]) -> list[tuple[str, Callable[[], Result]]]:
    return [(SECTION, partial(dots, runs, *each)) for each in FIGURES]


def dots(
    runs: Sequence[Observed], name: str, title: str, judge: Judge, measure: Measure, label: str, per: float
) -> Result:
    """A number of a claim: a row for each who, a panel for each place of the queue, a dot a medium."""
    verdict = judge(runs)
    chart = Chart(
        name, title, judge.by[:1], label, "medium", "place", {"medium": NAMES, "place": PLACES}, CALLED,
        dict(zip(NAMES, ("#222222", *COLOURS), strict=False)), look="rows", log=measure.unit == "ms",
        told=f"{verdict.conditions}.", missing=f"no run of it: narrows run {verdict.claim.name}",
    )  # fmt: skip
    return draw(chart, of_numbers(verdict.numbers, measure.name, per), verdict.run_ids)
