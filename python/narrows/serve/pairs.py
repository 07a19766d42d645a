"""The page of services that met: the matrices of `narrows.comparing.matrix`, one quantity below the other.

Of what services say of themselves a person chooses one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from narrows.comparing.matrix import Cell, Colour, Matrix, Quantity, ink, quantities, rows
from narrows.comparing.pair_shares import Summary, summaries
from narrows.comparing.trials import trials
from narrows.runs.observed import Observed
from narrows.spec.pairs import AND, PAIR

OPEN = 2
"""Quantities that are shown at once: the share, and the first that services say of themselves."""


@dataclass(frozen=True)
class Maps:
    """One quantity: its matrices, those side by side in one list."""

    quantity: Quantity
    rows: list[list[Matrix]]


def pair_maps(runs: Sequence[Observed]) -> list[Maps]:
    """All of these runs, the share first; none where no services met."""
    return maps(summaries(trials(runs)))


def maps(every: Sequence[Summary]) -> list[Maps]:
    """All that were measured."""
    found = [Maps(quantity, rows(every, quantity)) for quantity in quantities(every)]
    return [each for each in found if each.rows]


def where(matrix: Matrix, cell: Cell) -> tuple[tuple[str, str], ...]:
    """Axis and label of a cell's trials, to find them."""
    return (*matrix.conditions, (PAIR, AND.join(cell.pair)))


def style(cell: Cell, n: int) -> str:
    """The colours of one half."""
    return painted(cell.colours[n])


def painted(colour: Colour | None) -> str:
    """A colour, and what can be read on it, as a page says it."""
    return "" if colour is None else f"background: rgb{colour}; color: {ink(colour)}".replace(" ", "")
