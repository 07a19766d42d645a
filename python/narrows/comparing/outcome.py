"""Who got what: every item under every condition, by its rate, its share of a fair rate, its own figures, and
the delay that it met and made; then what the link did as a whole.

`outcome` is one pure function of an experiment's kept runs. What the experiment varies and which figures its
items have decide what is in it; no tool is known here. Pages, pictures and the last lines of a terminal word
and draw it. Numbers are those of the table `items` (`narrows.comparing.items`), in units that people read.

Repetitions that are equal count as one (`narrows.comparing.repetitions`), and a trial of a pair that is not
valid does not count (`narrows.runs.settled`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from narrows.comparing.conditions import group, varying
from narrows.comparing.items import EVERY_WAY, OF_ITEM, Got, got
from narrows.comparing.of_link import FAIRNESS, LATENCY, OWN_LATENCY, RPM, THROUGHPUT, USED, of_link
from narrows.comparing.repetitions import independent
from narrows.metrics.statistics.distribution import Distribution, distribution
from narrows.runs import loaded
from narrows.runs.items import items
from narrows.runs.observed import DIRECTIONS, Observed
from narrows.runs.settled import faults
from narrows.spec.pairs import PAIR
from narrows.tools.reading import LESS, MORE
from narrows.units import unit_of_name

Key = tuple[str, ...]
RATE, SHARE, OWN, MET, MADE, LOSS, TCP, LINK = KINDS = (
    "rate", "share", "own", "met", "made", "loss", "transfer", "link",
)  # fmt: skip
"""Kinds of measures, in the order in which an item's are told. What a transfer says of itself (its goodput,
what it sent again) is another way to tell its rate; what others say is how they fare."""
WHOLE = ""
"""The direction of a measure that is of no direction."""
ASKED = {
    THROUGHPUT: "throughput",
    LATENCY: "latency under load",
    OWN_LATENCY: "latency under load",
    RPM: "RPM",
    USED: "utilisation",
    FAIRNESS: "fairness among flows",
}
"""What a person asks of a link first, in order, and its words. Latency is the probe's where a run has one,
else that of the test's own packets: the two are never mixed. Where several items shared a link, the rate of
one of them is no answer, unless it is a speed test."""
DONE = "done"
"""Instead of the rate of an item that had ended by itself."""
OF_DONE = (
    "done: it had ended by itself before all had settled, so that neither its rate nor a share says anything"
)
ALIKE = 0.02
"""Medians that lie no further apart than this share of the largest are told as one."""


def told(figure: str, unit: str) -> tuple[float, str]:
    """Factor and unit in which people read a figure: a rate in Mbit/s, a part of a whole in percent."""
    if unit == "bit/s":
        return 1e-6, "Mbit/s"
    is_part = unit == "1" and figure.endswith(("share", "ratio", "loss", "marked"))
    return (100.0, "%") if is_part else (1.0, unit)


@dataclass(frozen=True)
class Measure:
    """One figure of one item, or of the link, under all conditions."""

    kind: str
    whose: str
    """What people call the item; empty: the link's."""
    figure: str
    """Its name in the table `items`; of the link's the quantity's."""
    direction: str
    words: str
    unit: str
    better: str | None
    source: str
    """What the number is, for a note."""
    by_run: dict[int, float] = field(default_factory=dict, repr=False)
    """Values by the places of the runs in `Outcome.runs`."""
    done_in: set[int] = field(default_factory=set, repr=False)
    """Runs in which the item had ended by itself before, so that it has no rate."""
    values: Mapping[Key, tuple[float, ...]] = field(default_factory=dict)
    """By condition; one without any has no entry."""
    done: frozenset[Key] = frozenset()
    """Conditions under which it had ended by itself in every run."""
    both_ways: bool = False
    """Whether there is the same of the other direction, so that the direction must be named."""

    def of(self, key: Key) -> Distribution:
        """Median, interval and n of a condition."""
        return distribution(self.values.get(key, ()))

    def median(self, key: Key) -> float:
        return float(np.median(self.values[key]))

    def spread(self, among: Iterable[Key] | None = None) -> float:
        """How far the conditions' medians lie apart, as a share of the largest: 0 (alike) to 1 and more."""
        keys = self.values if among is None else [key for key in among if key in self.values]
        medians = [self.median(key) for key in keys]
        largest = max((abs(each) for each in medians), default=0.0)
        return (max(medians) - min(medians)) / largest if largest else 0.0

    @property
    def is_zero(self) -> bool:
        """Whether nothing but 0 was seen of it."""
        return all(value == 0 for value in self.by_run.values())


@dataclass(frozen=True)
class Outcome:
    """Conditions (labels on `axes`, in order), and what was measured under them."""

    axes: tuple[str, ...]
    keys: tuple[Key, ...]
    measures: tuple[Measure, ...]
    """Item by item, those first that the question is most likely about; then the link's."""
    runs: tuple[Observed, ...]
    equal: tuple[tuple[Observed, ...], ...] = ()
    """Groups of repetitions that are equal: only the first of each counts."""
    invalid: tuple[Observed, ...] = ()
    """Trials that do not count."""
    unseen: tuple[str, ...] = ()
    """Items of which the tap could tell no packet."""

    @cached_property
    def items(self) -> tuple[str, ...]:
        """Who shared the link, in order."""
        return tuple(dict.fromkeys(each.whose for each in self.measures if each.whose))

    @cached_property
    def has_done(self) -> bool:
        """Whether an item had ended by itself somewhere."""
        return any(each.done for each in self.measures)

    @property
    def link(self) -> list[Measure]:
        """What is of no item."""
        return [each for each in self.measures if not each.whose]

    def of_item(self, whose: str, *kinds: str) -> list[Measure]:
        """An item's measures, of some kinds or all."""
        return [each for each in self.measures if each.whose == whose and (not kinds or each.kind in kinds)]

    def one(self, whose: str, kind: str, direction: str) -> Measure | None:
        """The measure of an item of which there is one in a direction."""
        return next((each for each in self.of_item(whose, kind) if each.direction == direction), None)

    def by(self, axes: Sequence[str]) -> "Outcome":
        """The same with fewer axes: runs that differ in the others are one condition."""
        return _grouped(replace(self, axes=tuple(axes)))


def outcome(runs: Sequence[Observed], by: Sequence[str] | None = None) -> Outcome | None:
    """What came of these runs under all of their conditions, or those that the axes `by` tell apart; None
    where no run loaded a link."""
    different, equal = independent([run for run in runs if run.ok])
    counted = [run for run in different if PAIR not in run.key or not faults(run)]
    invalid = [run for run in different if PAIR in run.key and faults(run)]
    of_items = list(_of_items(counted))
    every = (*of_items, *_of_link(counted, bool(of_items)))
    axes = tuple(varying(counted) if by is None else by)
    found = Outcome(axes, (), every, tuple(counted), tuple(equal), tuple(invalid), tuple(_unseen(counted)))
    return grouped if (grouped := _grouped(found)).keys else None


def _grouped(every: Outcome) -> Outcome:
    place = {id(run): n for n, run in enumerate(every.runs)}
    groups = group(every.runs, every.axes)
    measures = tuple(
        replace(
            each,
            values={
                key: tuple(each.by_run[place[id(run)]] for run in same if place[id(run)] in each.by_run)
                for key, same in groups.items()
                if any(place[id(run)] in each.by_run for run in same)
            },
            done=frozenset(
                key for key, same in groups.items() if all(place[id(run)] in each.done_in for run in same)
            ),
        )
        for each in every.measures
    )
    keys = tuple(key for key in groups if any(key in each.values for each in measures))
    return replace(every, keys=keys, measures=measures)


# ---- items -------------------------------------------------------------------------------------------------


Found = dict[tuple[str, str, str], Measure]
"""Rows of one item, by kind, figure and direction."""


def _of_items(runs: Sequence[Observed]) -> Iterator[Measure]:
    """Where several items shared the link, or one whose rate the run's own throughput is not."""
    place = {id(run): n for n, run in enumerate(runs)}
    by_run: dict[int, list[Got]] = {}
    for each in got(runs):
        by_run.setdefault(place[id(each.run)], []).append(each)
    loads = {n: [each for each in some if not each.item.is_probe] for n, some in by_run.items()}
    if all(_is_shown(runs[n], some) for n, some in loads.items()):
        return
    found: dict[str, Found] = {}
    present: dict[str, set[int]] = {}
    for n, some in loads.items():
        names = list(dict.fromkeys((each.called, each.item.name) for each in some))
        for each in some:
            twins = [item for called, item in names if called == each.called]
            second = twins.index(each.item.name)
            whose = each.called if not second else f"{each.called} ({second + 1})"
            present.setdefault(whose, set()).add(n)
            for measure, value in _measured(whose, each, by_run[n]):
                what = (measure.kind, measure.figure, measure.direction)
                kept = found.setdefault(whose, {}).setdefault(what, measure)
                if value is None:
                    kept.done_in.add(n)
                else:
                    kept.by_run[n] = value
    for whose in sorted(
        found, key=lambda whose: _rank(found[whose].values(), len(present[whose]) < len(runs))
    ):
        own = sorted(found[whose].values(), key=lambda measure: KINDS.index(measure.kind))
        ways = {measure.direction for measure in own if measure.kind in (RATE, MET)}
        for measure in own:
            same = {one.direction for one in own if one.figure == measure.figure}
            both = len(same if measure.kind in (OWN, TCP) else ways) > 1
            yield replace(measure, both_ways=both)


def _is_shown(run: Observed, loads: Sequence[Got]) -> bool:
    """Whether one item alone loads the run's link, and the run's throughput is its."""
    names = {each.item.name for each in loads}
    return not names or (len(names) == 1 and any(loaded.reads(run, way) for way in DIRECTIONS))


def _measured(whose: str, each: Got, beside: Sequence[Got]) -> Iterator[tuple[Measure, float | None]]:
    """One item's figures of one run and direction, with values as people are told them; the rate of one that
    had ended by itself is None."""
    way, direction, item = each.way, each.direction, each.item
    others = [
        other.way.queueing_p50_ms or 0.0
        for other in beside
        if other.item is not item and other.direction == direction and other.way.queueing_p50_ms is not None
    ]
    rate = way.rate_bps if way.shared_bps is None else way.shared_bps
    quantity = "rate_bps" if rate is not None else "goodput_bps"
    figures = (
        (RATE, quantity, "rate" if rate is not None else "", way.goodput_bps if rate is None else rate),
        (SHARE, "share", "", each.share),
        (MET, "queueing_p50_ms", "", way.queueing_p50_ms),
        (MADE, "queueing_p50_ms", "median time of the others in the queue", max(others, default=None)),
        (LOSS, "loss", "", way.loss),
    )
    for kind, figure, words, value in figures:
        meaning = EVERY_WAY[figure]
        if value is not None:
            scale, unit = told(figure, unit_of_name(figure) or "1")
            shown = None if kind == RATE and way.done else value * scale
            yield (
                Measure(
                    kind,
                    whose,
                    figure,
                    direction,
                    words or meaning.words,
                    unit,
                    meaning.better,
                    meaning.definition,
                ),
                shown,
            )
    # What a speed test says of itself is told of the link: throughput, latency.
    for own in item.figures:
        if own.better in (MORE, LESS) and own.direction in (None, direction):
            scale, unit = told(own.quantity, own.unit)
            is_told = own in item.fares and item.name != each.run.tested
            kind, way_of, words = OWN if is_told else TCP, own.direction or WHOLE, own.words
            yield (
                Measure(kind, whose, own.quantity, way_of, words, unit, own.better, OF_ITEM),
                own.value * scale,
            )


def _rank(own: Iterable[Measure], is_sometimes: bool) -> tuple[bool, bool, float]:
    """Items first that no condition takes away, then those that say how they fare (and not only how fast they
    are), then those that got least: what is asked is seldom how the strongest did."""
    every = list(own)
    shares = [value for each in every if each.kind == SHARE for value in each.by_run.values()]
    return is_sometimes, all(each.kind != OWN for each in every), float(np.median(shares)) if shares else 1.0


def _unseen(runs: Sequence[Observed]) -> list[str]:
    """Items that load a link and of which in some run no packet was told from those of others. A shard does
    not say."""
    every = (item for run in runs if run.folder is not None for item in items(run))
    return list(dict.fromkeys(item.name for item in every if not item.is_probe and not item.ways))


# ---- the link ----------------------------------------------------------------------------------------------


def _of_link(runs: Sequence[Observed], are_items: bool) -> Iterator[Measure]:
    """What a person asks of a link. Of pairs of services it is not asked."""
    if any(PAIR in run.key for run in runs):
        return
    every = {n: of_link(run) for n, run in enumerate(runs)}
    is_probed = any(each.quantity == LATENCY for some in every.values() for each in some)
    is_tested = any(run.tested for run in runs) or not are_items
    asked = (
        *((THROUGHPUT,) if is_tested else ()),
        LATENCY if is_probed else OWN_LATENCY,
        RPM,
        USED,
        FAIRNESS,
    )
    for quantity in asked:
        for direction in (*DIRECTIONS, None):
            found = {
                n: each
                for n, some in every.items()
                for each in some
                if (each.quantity, each.direction) == (quantity, direction)
            }
            for one in list(found.values())[:1]:
                scale, unit = told(quantity, one.unit)
                values = {n: each.value * scale for n, each in found.items()}
                yield Measure(
                    LINK,
                    "",
                    quantity,
                    direction or WHOLE,
                    ASKED[quantity],
                    unit,
                    one.better,
                    one.definition,
                    values,
                )


@dataclass(frozen=True)
class Axis:
    """How much an axis separates the conditions: what its labels make of a figure, all else equal."""

    name: str
    effect: float
    """The median over the other axes' labels of how far its own labels' medians lie apart."""
    medians: tuple[tuple[float, str], ...]
    """The mean of each label over the conditions that have it, lowest first."""


def separating(measure: Measure, axes: Sequence[str]) -> list[Axis]:
    """The axes, that which separates most first."""
    found = []
    for place, axis in enumerate(axes):
        rest: dict[Key, list[float]] = {}
        by: dict[str, list[float]] = {}
        for key in measure.values:
            rest.setdefault((*key[:place], *key[place + 1 :]), []).append(measure.median(key))
            by.setdefault(key[place], []).append(measure.median(key))
        ranges = [max(some) - min(some) for some in rest.values() if len(some) > 1]
        medians = sorted((float(np.median(some)), text) for text, some in by.items())
        found.append(Axis(axis, float(np.median(ranges)) if ranges else 0.0, tuple(medians)))
    return sorted(found, key=lambda each: -each.effect)
