"""The quantities that a person asks of a link first: throughput, latency under load, responsiveness; of many
flows how much of the link they took, and how fairly.

Each is one number of a run and a direction, None where it was not measured. Pages say them before all else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from narrows.comparing.items import Got, got
from narrows.runs.items import ItemFigure
from narrows.runs.observed import DIRECTIONS, Observed
from narrows.spec.pairs import PAIR
from narrows.tools import reading, registry
from narrows.tools.reading import LESS, MORE, Figure, Reading

UTILISATION, FAIRNESS = "utilisation", "fairness among flows"
RATE, SHARE = "rate", "share of its fair rate"
"""Of an item, after its name."""
OWN_FIGURES = 2
"""Of each item's own figures that are said, the first of those of which more or less is better."""
SCALES = {"bit/s": (1e-6, "Mbit/s"), "1": (100.0, "%")}
"""Base units as people are told them."""
ByRun = Mapping[str, Mapping[tuple[str, str], Got]]
"""What items got: run, then name and direction."""
WHOLE = ""
"""The direction of a number that is of no direction."""


@dataclass(frozen=True)
class Quantity:
    """A quantity, and how it is read of a run and a direction ("down", "up" or `WHOLE`)."""

    name: str
    unit: str
    more_is_better: bool
    source: str
    """What the number is, for a note."""
    of: Callable[[Observed, str], float | None]
    item: str | None = None
    """Whose it is; None: the run's."""
    words: str = ""
    """Of an item: what it is, without whose."""
    drawn: bool = True
    """Whether the sheet of all conditions has a panel for it."""


def quantities(runs: Sequence[Observed]) -> list[Quantity]:
    """Those of any run, in order, then those of many flows. Latency is the probe's where a run has one, else
    that of the test's own packets: the two are never mixed. Where several items shared a link, what each got
    takes the place of the throughput of one of them, unless that is a speed test."""
    of_items = list(_of_items(runs))
    throughput = Quantity("throughput", "Mbit/s", True, "throughput as the test itself reported it", _mbps)
    is_tested = any(run.tests for run in runs) or not of_items
    probed = any(_probe_ms(run, way) is not None for run in runs for way in DIRECTIONS)
    return [
        *([throughput] if is_tested else []),
        *of_items,
        Quantity(
            "latency under load",
            "ms",
            False,
            "a run's latency is the median round trip of the probe while that direction was loaded"
            if probed
            else "a run's latency is the median RTT of the test's own connection",
            _probe_ms if probed else _own_ms,
        ),
        Quantity("RPM", "1/min", True, "RPM (round trips per minute) as the test itself reported it", _rpm),
        Quantity(UTILISATION, "%", True, "utilisation is the flows' goodput over the link's", _used),
        Quantity(
            FAIRNESS, "1", True, "fairness is Jain's index of the flows' goodputs after the warm-up", _fair
        ),
    ]


def _of_items(runs: Sequence[Observed]) -> Iterator[Quantity]:
    """What each item got, where several shared a link, or where an item is none whose rate the run's own
    throughput is. Services of pairs are not here: who met them is part of what they got."""
    if any(PAIR in run.key for run in runs):
        return
    by_run: dict[str, dict[tuple[str, str], Got]] = {}
    for each in got(runs):
        if not each.item.is_probe:
            by_run.setdefault(each.run.run_id, {})[each.called, each.direction] = each
    shown = {(run.run_id, load.source) for run in runs for load in run.shown.values()}
    if all(
        len({name for name, _ in own}) == 1 and (run_id, next(iter(own))[0]) in shown
        for run_id, own in by_run.items()
    ):
        return
    for called in dict.fromkeys(name for own in by_run.values() for name, _ in own):
        yield _rate_quantity(called, by_run)
        yield _share_quantity(called, by_run)
        firsts = {
            figure.name: figure
            for own in by_run.values()
            for (name, _), one in own.items()
            if name == called
            for figure in one.item.figures
            if figure.better in (MORE, LESS) and all(own.reads is None for own in one.item.figures)
        }
        for figure in list(firsts.values())[:OWN_FIGURES]:
            yield _own_quantity(called, by_run, figure)


def _rate_quantity(called: str, by_run: ByRun) -> Quantity:
    def of(run: Observed, direction: str) -> float | None:
        one = by_run.get(run.run_id, {}).get((called, direction))
        if one is None:
            return None
        value = one.way.rate_bps if one.way.shared_bps is None else one.way.shared_bps
        return None if value is None else value / 1e6

    source = "rates of items are of the bottleneck's tap, while all of them shared the link"
    return Quantity(f"{called}: {RATE}", "Mbit/s", True, source, of, called, RATE)


def _share_quantity(called: str, by_run: ByRun) -> Quantity:
    def of(run: Observed, direction: str) -> float | None:
        one = by_run.get(run.run_id, {}).get((called, direction))
        return None if one is None or one.share is None else 100 * one.share

    source = "a share is of the max-min fair rate"
    return Quantity(f"{called}: {SHARE}", "%", True, source, of, called, SHARE, drawn=False)


def _own_quantity(called: str, by_run: ByRun, figure: ItemFigure) -> Quantity:
    scale, unit = SCALES.get(figure.unit, (1.0, figure.unit))

    def of(run: Observed, direction: str) -> float | None:
        for (name, _), one in by_run.get(run.run_id, {}).items():
            for own in one.item.figures if name == called else ():
                if own.name == figure.name and (own.direction or WHOLE) == direction:
                    return own.value * scale
        return None

    source = "what an item says of itself is of its whole time"
    more = figure.better == MORE
    words = figure.words
    return Quantity(f"{called}: {words}", unit, more, source, of, called, words, drawn=False)


def _mbps(run: Observed, direction: str) -> float | None:
    test = run.shown.get(direction)
    return None if test is None else test.rate_mbps


def _probe_ms(run: Observed, direction: str) -> float | None:
    rtt = run.probe_rtt_ms(direction) if direction in run.shown else np.empty(0)
    return float(np.median(rtt)) if rtt.size else None


def _own_ms(run: Observed, direction: str) -> float | None:
    return run.quantity("test_rtt_p50_ms", direction) if direction in run.tests else None


def _used(run: Observed, direction: str) -> float | None:
    many = run.many if direction == WHOLE else None
    return None if many is None or many.utilisation is None else 100 * many.utilisation


def _fair(run: Observed, direction: str) -> float | None:
    many = run.many if direction == WHOLE else None
    return None if many is None else many.jain


def _rpm(run: Observed, direction: str) -> float | None:
    found = sorted(
        (source, value)
        for (source, way, name), value in run.figures.items()
        if name in _rpm_names() and (way or WHOLE) == direction
    )
    return found[0][1] if found else None


@cache
def _rpm_names() -> frozenset[str]:
    """The first figure of each tool that reads responsiveness: its own headline."""
    firsts = (
        next((name for name, of in each.FIGURES.items() if _is_rpm(of)), None)
        for each in registry.parts(registry.READINGS)
    )
    return frozenset(name for name in firsts if name is not None)


def _is_rpm(of: Reading | Figure) -> bool:
    return isinstance(of, Reading) and of.quantity == reading.RPM
