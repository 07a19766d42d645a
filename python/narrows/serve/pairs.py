"""Maps of services that met: what each got of its max-min fair rate, lost and waited beside each other.

A row is a service, a column whom it met; a map is of one set of conditions and one quantity. Shares have two
colours, because what matters is which side of 100 % they lie on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from narrows.comparing.pair_shares import Side, Summary, summaries
from narrows.comparing.trials import Conditions, trials
from narrows.runs.observed import Observed
from narrows.serve.heat import Cell, Heat, shade
from narrows.spec.pairs import AND, PAIR

LESS, MORE = (178, 24, 43), (33, 102, 172)
"""Red, green and blue of no share at all, and of twice the fair share and more."""
WHITE_FROM = 0.6
Read = Callable[[Summary, Side], float | None]


@dataclass(frozen=True)
class Quantity:
    """What a map shows; `places` are the digits behind the point."""

    name: str
    unit: str
    read: Read
    places: int = 0
    around_fair: bool = False


QUANTITIES = (
    Quantity("share of the max-min fair rate", "%", lambda _, s: _times(100, s.share), around_fair=True),
    Quantity("rate", "Mbit/s", lambda _, s: s.rate_mbps, 2),
    Quantity("utilisation of the link", "%", lambda one, _: _times(100, one.utilisation)),
    Quantity("loss at the bottleneck", "%", lambda _, s: _times(100, s.loss), 2),
    Quantity("median queueing delay", "ms", lambda _, s: s.delay_ms),
)


@dataclass(frozen=True)
class Maps:
    """The maps of one set of conditions."""

    conditions: Conditions
    maps: tuple[Heat, ...]


def pair_maps(runs: Sequence[Observed]) -> list[Maps]:
    """All maps of these runs; none where no services met."""
    by: dict[Conditions, list[Summary]] = {}
    for one in summaries(trials(runs)):
        by.setdefault(one.conditions, []).append(one)
    return [
        Maps(conditions, tuple(_map(conditions, found, quantity) for quantity in QUANTITIES))
        for conditions, found in by.items()
        if any(len(one.pair) > 1 for one in found)
    ]


def _map(conditions: Conditions, found: Sequence[Summary], quantity: Quantity) -> Heat:
    names = list(dict.fromkeys(name for one in found for name in one.pair))
    sides: dict[tuple[str, str], tuple[Summary, Side]] = {}
    for one in found:
        if len(one.pair) == 2:
            (first, second), (mine, theirs) = one.pair, one.sides
            sides[second, first] = one, theirs
            sides[first, second] = one, mine
    known = {where: value for where, each in sides.items() if (value := quantity.read(*each)) is not None}
    least, most = min(known.values(), default=0.0), max(known.values(), default=0.0)
    body = []
    for name in names:
        cells = []
        for other in names:
            value, each = known.get((name, other)), sides.get((name, other))
            if value is None or each is None:
                cells.append(Cell("", 0, "transparent", "inherit", ()))
                continue
            if quantity.around_fair:
                background, ink = _around_fair(value / 100)
            else:
                background, ink = shade((value - least) / (most - least) if most > least else 0.0)
            where = (*conditions, (PAIR, AND.join(each[0].pair)))
            cells.append(Cell(f"{value:.{quantity.places}f}", each[0].n, background, ink, where))
        body.append((name, tuple(cells)))
    return Heat(quantity.name, quantity.unit, "service", "beside", tuple(names), tuple(body), "trials")


def _around_fair(share: float) -> tuple[str, str]:
    far = min(1.0, abs(share - 1.0))
    colour = LESS if share < 1.0 else MORE
    mixed = [round(255 + far * (part - 255)) for part in colour]
    return f"rgb({mixed[0]},{mixed[1]},{mixed[2]})", "#fff" if far >= WHITE_FROM else "inherit"


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value
