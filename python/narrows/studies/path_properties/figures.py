"""How wrong each estimator is, path by path and place by place; how often proxies and busy hours are found.

Chapter 5's own figures are of its data; `narrows paths --metadata` draws their kind of anyone's.
"""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes

from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs, run_ids
from narrows.figures.style import canvas, styled
from narrows.judging.parts import Item, Number, conditions, grouped, median_of
from narrows.judging.parts import Read as Estimate
from narrows.runs.observed import Observed
from narrows.studies.path_properties import estimates
from narrows.studies.path_properties.claims import n4, n5
from narrows.studies.path_properties.seen import PLACES, Seen, seen

SECTION = "How wrong each estimator is"
SESSIONS = "What populations of sessions show"
COLOUR = {"sender": "#0072b2", "bottleneck": "#e69f00", "receiver": "#999999"}
MARKER = {"sender": "o", "bottleneck": "s", "receiver": "v"}
DRAWN: tuple[tuple[str, str, str, Estimate], ...] = (
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
    """What the study's page draws, each with its section."""
    captures = seen(runs)
    made: list[tuple[str, Callable[[], Result]]] = [(SECTION, _drawn(captures, *each)) for each in DRAWN]
    if captures:
        made += [(SESSIONS, lambda: _proxies(captures)), (SESSIONS, lambda: _busy_hours(captures))]
    return made


def _drawn(
    captures: Sequence[Seen], name: str, title: str, axis: str, error: Estimate
) -> Callable[[], Result]:
    return lambda: by_path(captures, name, title, axis, error)


def by_path(captures: Sequence[Seen], name: str, title: str, axis: str, error: Estimate) -> Result:
    """Median error and its interval: a row a path, a marker a place, a panel a base RTT."""
    items = [Item(one, {**one.run.key, "place": one.place}, ()) for one in captures]
    found = {
        tuple(key.values()): made
        for key, own in grouped(items, ("path", "base_rtt", "place"))
        if (made := median_of(title, "", [v for i in own if (v := error(i.of)) is not None], key)) is not None
    }
    if not found:
        return Missing(name, title, "no captures of the study")
    rtts = sorted({str(one.run.key["base_rtt"]) for one in captures}, key=lambda text: (len(text), text))
    paths = list(dict.fromkeys(str(one.run.key["path"]) for one in captures))
    figure, grid = canvas(1, len(rtts), row_in=0.6 + 0.22 * len(paths))
    with styled():
        for axes, rtt in zip(grid[0], rtts, strict=True):
            for place, colour in COLOUR.items():
                rows = [(y, found.get((path, rtt, place))) for y, path in enumerate(paths)]
                _markers(axes, [(y, n) for y, n in rows if n is not None], place, colour)
            axes.axvline(0, color="#bbbbbb", linewidth=0.8, zorder=0)
            axes.set_yticks(range(len(paths)), paths, fontsize=6)
            axes.set_ylim(len(paths) - 0.5, -0.5)
            axes.set_title(f"base RTT {rtt.removesuffix('ms')} ms")
            axes.set_xlabel(axis)
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3)
    ids = run_ids(one.run for one in captures)
    caption = (
        "Median over repetitions, with its 95 % interval where there are enough; a place without a marker "
        f"gives NULL there. {count_runs(len(ids))}. {name_runs(ids)}"
    )
    return Drawing(name, title, caption, ids, figure)


def _markers(axes: Axes, rows: Sequence[tuple[int, Number]], place: str, colour: str) -> None:
    offset = 0.22 * (list(PLACES.values()).index(place) - 1)
    for y, number in rows:
        if number.low is not None and number.high is not None:
            axes.plot([number.low, number.high], [y + offset] * 2, color=colour, linewidth=1.0)
    values, places = [n.value for _, n in rows], [y + offset for y, _ in rows]
    axes.plot(values, places, MARKER[place], color=colour, markersize=3.5, label=place)


def _proxies(captures: Sequence[Seen]) -> Result:
    return _population(
        captures,
        "proxies",
        "N4: how often proxies are judged rightly",
        n4.rates(),
        "made-up populations; one AS in ten has proxies, for 60 % of its sessions",
    )


def _busy_hours(captures: Sequence[Seen]) -> Result:
    return _population(
        captures,
        "busy_hours",
        "N5: how often busy hours are found",
        n5.shares(),
        "made-up populations; delays log-normal, median 80 ms, third quartile 200 ms",
    )


def _population(
    captures: Sequence[Seen], name: str, title: str, numbers: Sequence[Number], what: str
) -> Result:
    """A row a number."""
    figure, grid = canvas(1, 1, row_in=0.5 + 0.18 * len(numbers))
    axes = grid[0][0]
    with styled():
        for y, number in enumerate(numbers):
            if number.low is not None and number.high is not None:
                axes.plot([number.low, number.high], [y, y], color="#0072b2", linewidth=1.0)
            axes.plot([number.value], [y], "o", color="#0072b2", markersize=3.5)
        axes.set_yticks(
            range(len(numbers)), [f"{n.name}: {conditions(n.conditions)}" for n in numbers], fontsize=5
        )
        axes.set_ylim(len(numbers) - 0.5, -0.5)
        axes.set_xlim(-0.03, 1.03)
        axes.set_xlabel("share")
    ids = run_ids(one.run for one in captures)[:0]
    return Drawing(name, title, f"{what[:1].upper()}{what[1:]}. No run is in it.", ids, figure)
