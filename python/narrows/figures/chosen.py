"""Which figures of an outcome are told first, of each item two or three, the same in tables and pictures.

They are those that the items' tools declare as headlines (`narrows.tools.reading`), else what an item got,
its share of a fair rate and what it waited; then what the link did, and of a `Home` where packets wait.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache

from narrows.comparing.conditions import group
from narrows.comparing.of_link import LATENCY, THROUGHPUT
from narrows.comparing.outcome import LINK, LOSS, MET, OWN, RATE, SHARE, TCP, Key, Measure, Outcome
from narrows.metrics.statistics.ecdf import weighted_quantile
from narrows.runs import loaded
from narrows.runs.observed import DIRECTIONS, Observed
from narrows.tools import registry
from narrows.tools.reading import LESS

MOST_ITEMS = 6
"""Items that are told; of more, the tables of a page have all numbers."""
WAITED = "waited_"
"""How the figures of places begin."""
WAY = {"down": "download", "up": "upload"}
PLACES = {"isp": "at the ISP", "home": "at home"}


def place_name(hop: str) -> str:
    """Where a queue is, in words."""
    return PLACES.get(hop, f"at {hop}")


Chosen = list[tuple[str, Measure]]
"""Whose, as the table is headed, and what."""


def chosen(every: Outcome) -> Chosen:
    """Item by item; before them what a speed test says of the link, after them what else the link did."""
    places = [("", m) for m in _places(every)]
    of_items = [(whose, m) for whose in every.items[:MOST_ITEMS] for m in _of_item(every, whose)]
    of_items = [each for each in of_items if not places or each[1].kind != MET]
    of_link = [(whose_of_link(every, m), m) for m in every.link]
    tested = any(run.tested for run in every.runs)
    return [*of_link, *of_items, *places] if tested else [*of_items, *places, *of_link]


def _of_item(every: Outcome, whose: str) -> list[Measure]:
    """Its tool's headlines and its share; of a transfer its rate, its share and what it waited."""
    own = [m for m in every.of_item(whose, OWN) if m.values]
    is_transfer = any(m.unit == "Mbit/s" for m in every.of_item(whose, TCP))
    shown = [m for m in own if m.figure in _headlines()] or ([] if is_transfer else own)
    figures = list(dict.fromkeys(m.figure for m in shown))[:2]
    rates, shares, met, lost = (
        [m for m in every.of_item(whose, kind) if m.values or m.done] for kind in (RATE, SHARE, MET, LOSS)
    )
    if figures:
        return [*(m for m in shown if m.figure in figures), *shares]
    return [*(rates or lost), *shares, *met]


@cache
def _headlines() -> frozenset[str]:
    return frozenset(
        name
        for part in registry.parts(registry.READINGS)
        for name, of in part.FIGURES.items()
        if getattr(of, "headline", False)
    )


def _places(every: Outcome) -> Iterator[Measure]:
    """Of runs with several queues in a row: at which packets wait, and for how long."""
    hops = dict.fromkeys(hop for run in every.runs if len(run.places) > 1 for hop in run.places)
    for way in DIRECTIONS:
        if not any(way in loaded.ways(run) for run in every.runs):
            continue
        for hop in hops:

            def waited(run: Observed, hop: str = hop, way: str = way) -> float | None:
                truth = run.places.get(hop, {}).get(way)
                if way not in loaded.ways(run) or truth is None:
                    return None
                return weighted_quantile(truth.sojourn_ms, truth.sojourn_packets, 0.5)

            words = f"median wait {place_name(hop)}, {WAY[way]}"
            made = _made(every, f"{WAITED}{hop}", way, words, waited)
            if made.values:
                yield made


def _made(
    every: Outcome, figure: str, way: str, words: str, read: Callable[[Observed], float | None]
) -> Measure:
    """A measure in ms of each run, of the link."""
    by_run = {n: value for n, run in enumerate(every.runs) if (value := read(run)) is not None}
    made = Measure(LINK, "", figure, way, words, "ms", LESS, "", by_run)
    return replace(made, values=by_key(every, by_run))


def by_key(every: Outcome, by_run: Mapping[int, float]) -> dict[Key, tuple[float, ...]]:
    place = {id(run): n for n, run in enumerate(every.runs)}
    found = {
        key: tuple(by_run[n] for run in same if (n := place[id(run)]) in by_run)
        for key, same in group(every.runs, every.axes).items()
    }
    return {key: values for key, values in found.items() if values}


def whose_of_link(every: Outcome, measure: Measure) -> str:
    """Of what a figure of the link is: of the load that reads it, the probe that met it; empty: of all."""
    names: set[str] = set()
    if measure.figure == LATENCY:
        names = {probe.whose.item or "" for run in every.runs if (probe := run.probe()) is not None}
    elif measure.figure == THROUGHPUT:
        read = (loaded.reads(run, way) for run in every.runs for way in DIRECTIONS)
        names = {item.name for item in read if item is not None}
    return names.pop() if len(names) == 1 else ""
