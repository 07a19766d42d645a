"""The equivalents of Figures 1 to 9 of Ray et al. (arXiv 2511.19213), where the runs hold their conditions.

Each is of runs with the paper's base RTT, by the labels of the study's experiments: burst "off", "text" or
"listing"; cross "no" or the direction of the cross flow. What else differs is named, so that nothing is
pooled in silence. Where the paper draws throughput over time, a figure says how much that varies.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from narrows.comparing.conditions import rank
from narrows.figures.drawing import Result
from narrows.figures.style import DIRECTION, colour, queue_name
from narrows.judging.parts import Item, Read, Where, fits, spelt
from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.evidence import LAN, PAPER_QUEUES, RTT, SHAPED, USE, VARIATION, value, ways
from narrows.studies.drawing import Chart, draw, of_items

OFF, NO, CROSS = ("off",), ("no",), ("up", "down", "both")
ELSE = ("burst", "cross", "timers")
"""What may differ within a figure beside its rates and queues."""


@dataclass(frozen=True)
class Told:
    """What is drawn of each run: the label of the axis, how it is read, and in so many of its unit."""

    label: str
    reads: Mapping[str, Read]
    """By the words that panels begin with, where there are several."""
    per: float = 1.0
    line: float | None = None


THROUGHPUT = Told("% of what the shaper lets through", {"": USE.read}, 0.01, line=100)
LATENCY = Told("RTT of the test [ms]", {"median": RTT.read, "p99": value("test_rtt_p99_ms")})
VARIES = Told("variation of 10 ms bins [%]", {"": VARIATION.read}, 0.01)
FIGURES: tuple[tuple[int, str, Told, tuple[str, ...], tuple[str, ...], str], ...] = (
    (1, "Throughput without burst shaping, without cross traffic", THROUGHPUT, OFF, NO, ""),
    (2, "Latency without burst shaping, without cross traffic", LATENCY, OFF, NO, ""),
    (3, "Throughput with burst shaping, without cross traffic", THROUGHPUT, SHAPED, NO, ""),
    (4, "Latency with burst shaping, without cross traffic", LATENCY, SHAPED, NO, ""),
    (5, "Throughput with burst shaping and cross traffic", THROUGHPUT, SHAPED, CROSS, ""),
    (6, "Latency with burst shaping and cross traffic", LATENCY, SHAPED, CROSS, ""),
    (7, "How much an upload varies at 100 Mbit/s, no load", VARIES, OFF, NO, "100Mbit"),
    (8, "How much an upload varies at 100 Mbit/s, burst shaping and cross traffic", VARIES, SHAPED, CROSS,
     "100Mbit"),
    (9, "How much an upload varies at 900 Mbit/s, burst shaping and cross traffic", VARIES, SHAPED, CROSS,
     "900Mbit"),
)  # fmt: skip
"""Number, title, what is drawn, bursts, cross traffic, and the rate of uploads; empty: all, and both ways."""


def figures(runs: Sequence[Observed]) -> list[tuple[str, Callable[[], Result]]]:
    return [("The paper's figures", make) for make in paper_figures(runs)]


def paper_figures(runs: Sequence[Observed]) -> list[Callable[[], Result]]:
    """One callable per figure, so that only one is in memory at a time."""
    return [partial(paper_figure, runs, *each) for each in FIGURES]


def paper_figure(
    runs: Sequence[Observed],
    number: int,
    title: str,
    told: Told,
    bursts: tuple[str, ...],
    crosses: tuple[str, ...],
    rate: str,
) -> Result:
    """A figure of the runs under its conditions; `Missing` where there are none."""
    where: Where = {
        "burst": bursts, "cross": crosses, "path": LAN, "rate": rate, "direction": "up" if rate else "",
    }  # fmt: skip
    items = [item for item in ways(runs) if fits(item.key, where)]
    differ = [axis for axis in ELSE if len({item.key[axis] for item in items}) > 1]

    def panel(words: str, item: Item) -> Item:
        key = item.key
        here = (words, DIRECTION[key["direction"]], *(f"{axis} {key[axis]}" for axis in differ))
        return Item(item.of, {**key, "panel": ", ".join(filter(None, here))}, item.run_ids)

    points = [
        point
        for words, read in told.reads.items()
        for point in of_items(
            [panel(words, item) for item in items], read, ("panel", "rate", "queue"), told.per
        )
    ]
    rates = sorted({item.key["rate"] for item in items}, key=lambda label: rank("rate", label))
    burst = "without burst shaping" if bursts == OFF else "with burst shaping"
    words = f"{burst}, {'without cross traffic' if crosses == NO else 'with one CUBIC cross flow'}"
    chart = Chart(
        f"paper_fig{number}", f"Figure {number} of the paper: {title}", ("rate",), told.label, "queue",
        "panel", {"rate": rates, "queue": PAPER_QUEUES},
        {queue: queue_name(queue) for queue in PAPER_QUEUES},
        {queue: colour(queue) for queue in PAPER_QUEUES}, columns=2, line=told.line,
        told=f"Bars are medians of runs, dots the runs; {words}.",
        missing=f"no run here is {words}{f' at {spelt(rate)}' if rate else ''}",
    )  # fmt: skip
    return draw(chart, points, [run_id for item in items for run_id in item.run_ids])
