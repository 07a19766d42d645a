"""Services that met, as a matrix of one quantity: each cell has both services' numbers.

A row is a service, a column whom it met. The first number of a cell is the row's, the second the column's; on
the diagonal, where two equal services met, the first and the second of them. Every page and every figure
draws this one.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from narrows.comparing.conditions import Rank, rank
from narrows.comparing.outcome import ALIKE, told
from narrows.comparing.pair_shares import Side, Summary
from narrows.comparing.trials import Conditions
from narrows.runs.measure import Measure
from narrows.tools.reading import LESS, MORE

QUEUE = "queue"
"""The axis whose labels stand side by side, if there is one."""
LOW, FAIR, HIGH = (178, 24, 43), (255, 255, 255), (33, 102, 172)
"""Red, green and blue of no share at all, of the fair one, and of twice that and more."""
GOOD, BAD = (247, 251, 255), (8, 69, 148)
"""Colours of the best and the worst that a matrix shows; the darker the worse."""
NOTHING = (None, None)
Read = Callable[[Summary, Side], float | None]
Colour = tuple[int, int, int]


@dataclass(frozen=True)
class Quantity:
    """What a matrix shows; `places` are the digits behind the point."""

    name: str
    words: str
    unit: str
    read: Read
    better: str | None = None
    places: int = 0
    around_fair: bool = False
    is_of_both: bool = False
    """Whether both services have the same number, so that a cell has one."""


SHARE = Quantity(
    "share", "share of the max-min fair rate", "%", lambda _, side: _times(100, side.share), around_fair=True
)
RATE = Quantity("rate", "rate", "Mbit/s", lambda _, side: side.rate_mbps, MORE, 2)
USED = Quantity(
    "used", "use of the link", "%", lambda one, _: _times(100, one.utilisation), MORE, is_of_both=True
)
LOSS = Quantity("loss", "loss at the bottleneck", "%", lambda _, side: _times(100, side.loss), LESS, 2)
DELAY = Quantity("delay", "median time in the queue", "ms", lambda _, side: side.delay_ms, LESS)


@dataclass(frozen=True)
class Cell:
    """A meeting: the row's number, the column's, the pair as it is labelled, and its valid trials."""

    values: tuple[float | None, float | None]
    texts: tuple[str, ...]
    colours: tuple[Colour | None, ...]
    pair: tuple[str, ...]
    n: int


@dataclass(frozen=True)
class Matrix:
    """One quantity under one set of conditions."""

    quantity: Quantity
    conditions: Conditions
    names: tuple[str, ...]
    cells: dict[tuple[str, str], Cell]


def quantities(every: Iterable[Summary]) -> list[Quantity]:
    """All that these services have: what each got, then how they fared, as they say themselves (what was 0
    everywhere is left out), then what they met."""
    known = {
        name: own
        for one in every
        if len(one.pair) > 1
        for side in one.sides
        for name, own in side.own.items()
        if own.value
    }
    return [SHARE, *(_own(name, own) for name, own in known.items()), RATE, USED, LOSS, DELAY]


def rows(every: Iterable[Summary], quantity: Quantity, order: Sequence[str] = ()) -> list[list[Matrix]]:
    """The matrices of a quantity, those side by side in one list that differ in the queue alone (without such
    an axis in the first that varies); none where no two services met. Their colours mean the same. `order`:
    of the services that it names."""
    met = [one for one in every if len(one.pair) == 2]
    across = _across([one.conditions for one in met])
    by: dict[Conditions, dict[Conditions, list[Summary]]] = {}
    for one in met:
        rest = tuple(each for each in one.conditions if each[0] != across)
        by.setdefault(rest, {}).setdefault(one.conditions, []).append(one)
    values = [v for one in met for side in one.sides if (v := quantity.read(one, side)) is not None]
    if not values:
        return []
    ends = min(values), max(values)
    found = []
    for _, beside in sorted(by.items(), key=_rank):
        ordered = sorted(beside.items(), key=_rank)
        made = [_matrix(quantity, each, some, order, ends) for each, some in ordered]
        found.append([one for one in made if any(cell.values != NOTHING for cell in one.cells.values())])
    return [line for line in found if line]


def _matrix(
    quantity: Quantity,
    conditions: Conditions,
    every: Sequence[Summary],
    order: Sequence[str],
    ends: tuple[float, float],
) -> Matrix:
    there = dict.fromkeys(name for one in every for name in one.pair)
    names = [*(name for name in order if name in there), *(name for name in there if name not in order)]
    cells = {}
    for one in every:
        (first, second), sides = one.pair, one.sides
        cells[second, first] = _cell(quantity, one, (sides[1], sides[0]), ends)
        cells[first, second] = _cell(quantity, one, (sides[0], sides[1]), ends)
    return Matrix(quantity, conditions, tuple(names), cells)


def _cell(quantity: Quantity, one: Summary, sides: tuple[Side, Side], ends: tuple[float, float]) -> Cell:
    values = (quantity.read(one, sides[0]), quantity.read(one, sides[1]))
    shown = values[:1] if quantity.is_of_both else values
    texts = tuple("–" if value is None else f"{value:.{quantity.places}f}" for value in shown)
    return Cell(values, texts, tuple(colour(quantity, v, ends) for v in shown), one.pair, one.n)


def colour(quantity: Quantity, value: float | None, ends: tuple[float, float]) -> Colour | None:
    """What a number is drawn on: a share by the side of the fair one on which it lies, all else between the
    best and the worst there is."""
    if value is None:
        return None
    if quantity.around_fair:
        far = min(1.0, abs(value / 100 - 1.0))
        return mixed(FAIR, LOW if value < 100 else HIGH, far)
    low, high = ends
    if high - low <= ALIKE * abs(high):
        return GOOD
    part = (value - low) / (high - low)
    return mixed(GOOD, BAD, 1 - part if quantity.better == MORE else part)


def ink(background: Colour) -> str:
    """White or black, whichever is read better on it."""
    parts = [part / 255 for part in background]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#fff" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "#000"


def _own(name: str, own: Measure) -> Quantity:
    scale, unit = told(name, own.unit)

    def read(_: Summary, side: Side) -> float | None:
        return _times(scale, side.own[name].value) if name in side.own else None

    places = 2 if unit in ("Mbit/s", "%") else 0
    return Quantity(name, own.words, "" if unit == "1" else unit, read, own.better, places)


def _rank(each: tuple[Conditions, object]) -> list[Rank]:
    return [rank(axis, label) for axis, label in each[0]]


def _across(every: Sequence[Conditions]) -> str | None:
    """The axis whose labels stand side by side."""
    labels: dict[str, set[str]] = {}
    for conditions in every:
        for axis, label in conditions:
            labels.setdefault(axis, set()).add(label)
    several = [axis for axis, some in labels.items() if len(some) > 1]
    return QUEUE if QUEUE in several else next(iter(several), None)


def mixed(one: Colour, other: Colour, part: float) -> Colour:
    red, green, blue = (round(a + part * (b - a)) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value
