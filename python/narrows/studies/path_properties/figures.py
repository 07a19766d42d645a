"""How wrong each estimator is, path by path and place by place; how often proxies and busy hours are found.

Chapter 5's own figures are of its data; `narrows paths --metadata` draws their kind of anyone's.
"""

from collections.abc import Callable, Sequence
from functools import partial

from narrows.figures.drawing import Result
from narrows.judging.parts import Number, Read, conditions, grouped, median_of, spelt
from narrows.runs.observed import Observed
from narrows.studies.drawing import Chart, Point, draw, of_numbers
from narrows.studies.path_properties import estimates
from narrows.studies.path_properties.claims import n4, n5
from narrows.studies.path_properties.seen import PLACES, items

SECTION = "How wrong each estimator is"
SESSIONS = "What populations of sessions show"
COLOUR = {"sender": "#0072b2", "bottleneck": "#e69f00", "receiver": "#999999"}
BY = ("path", "base_rtt", "place")
DRAWN: tuple[tuple[str, str, str, Read], ...] = (
    ("base_rtt", "N1: base RTT, the minimum", "relative error", estimates.base_rtt),
    ("base_rtt_p01", "N1: base RTT, the 1st percentile", "relative error", estimates.base_rtt_p01),
    ("peak_queueing_delay", "N2: peak queueing delay", "error [ms]", estimates.peak_ms),
    ("ack_aggregation", "N3: ACK aggregation", "relative error", estimates.aggregation),
    ("throughput", "N6: throughput over active time", "relative error", estimates.throughput),
    ("capacity", "N7: capacity", "relative error", estimates.capacity),
    ("capacity_variation", "N7: variation of capacity", "error", estimates.variation),
    ("jitter", "N8: jitter", "error [ms]", estimates.jitter_ms),
    ("reordering", "N9: reordering", "error of the share of segments", estimates.reordered),
    ("random_loss", "N10: random loss", "error of the share of segments", estimates.random_loss),
)


def figures(runs: Sequence[Observed]) -> list[tuple[str, Callable[[], Result]]]:
    made: list[tuple[str, Callable[[], Result]]] = [
        (SECTION, partial(by_path, runs, *each)) for each in DRAWN
    ]
    if items()(runs):
        made += [(SESSIONS, partial(population, *each)) for each in POPULATIONS]
    return made


def by_path(runs: Sequence[Observed], name: str, title: str, label: str, error: Read) -> Result:
    """Median error and its interval: a row a path, a marker a place, a panel a base RTT."""
    captures = list(items()(runs))
    points = []
    for key, own in grouped(captures, BY):
        median = median_of(title, "", [value for one in own if (value := error(one.of)) is not None], key)
        points += [Point(key, ())] if median is None else of_numbers([median])
    chart = Chart(
        name, title, ("path",), label, "place", "base_rtt", {"place": tuple(PLACES.values())},
        colours=COLOUR, look="rows", line=0.0, missing="no captures of the study",
        apart=True, called={rtt: f"base RTT {spelt(rtt)}" for rtt in ("20ms", "100ms")},
        told="Median over repetitions, with its 95 % interval where there are enough; a place without a "
        "marker gives NULL there.",
    )  # fmt: skip
    return draw(chart, points, [run_id for one in captures for run_id in one.run_ids])


def population(name: str, title: str, numbers: Callable[[], Sequence[Number]], told: str) -> Result:
    """A row a number; no run is in it."""
    points = [
        Point({"row": f"{n.name}: {conditions(n.conditions)}"}, point.values, point.interval)
        for n in numbers()
        for point in of_numbers([n], per=0.01)
    ]
    chart = Chart(name, title, ("row",), "share [%]", look="rows", told=f"{told} No run is in it.")
    return draw(chart, points, ())


POPULATIONS = (
    (
        "proxies", "N4: how often proxies are judged rightly", n4.rates,
        "Made-up populations; one AS in ten has proxies, for 60 % of its sessions.",
    ),
    (
        "busy_hours", "N5: how often busy hours are found", n5.shares,
        "Made-up populations; delays log-normal, median 80 ms, third quartile 200 ms.",
    ),
)  # fmt: skip
