"""A heat map: the median of one quantity for each pair of labels of two axes, as a table with colours.

The colours run over what the map shows, from its lowest to its highest median; a cell says how many runs it
is of. A pair without a run has no number and no colour.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from narrows.comparing.conditions import REPETITION, axes, labels
from narrows.comparing.matrix import BAD, GOOD, mixed
from narrows.report.page import number
from narrows.report.table import Row, summary
from narrows.runs.observed import Observed
from narrows.serve.pairs import painted


@dataclass(frozen=True)
class Cell:
    """One pair of conditions; no text where nothing was measured."""

    text: str
    n: int
    style: str
    where: tuple[tuple[str, str], ...]
    """Axis and label of the pair, to find its runs."""


@dataclass(frozen=True)
class Heat:
    """The map; `rows` are pairs of a label and its cells."""

    quantity: str
    unit: str
    down: str
    across: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    over: str


def quantities(runs: Sequence[Observed]) -> list[str]:
    """What can be mapped: every quantity of the report's table."""
    return list(dict.fromkeys(row.quantity for row in summary(runs, []).rows))


def map_axes(runs: Sequence[Observed]) -> list[str]:
    """The axes that tell runs apart, those with the most labels first."""
    several = {axis: len(labels(runs, axis)) for axis in axes(runs) if axis != REPETITION}
    return sorted((axis for axis, count in several.items() if count > 1), key=lambda axis: -several[axis])


def heat(runs: Sequence[Observed], quantity: str, down: str, across: str) -> Heat | None:
    """The map of a quantity over two axes; None where nothing was measured."""
    good = [run for run in runs if run.ok]
    rows = {row.condition: row for row in summary(good, [down, across]).rows if row.quantity == quantity}
    medians = [row.values.median for row in rows.values() if row.values.median is not None]
    if not medians:
        return None
    least, span = min(medians), max(medians) - min(medians)
    columns = labels(good, across)
    one = next(iter(rows.values()))
    body = []
    for name in labels(good, down):
        pairs = [((name, to), ((down, name), (across, to))) for to in columns]
        body.append((name, tuple(_cell(rows.get(pair), where, least, span) for pair, where in pairs)))
    return Heat(quantity, one.unit, down, across, tuple(columns), tuple(body), one.over)


def _cell(row: Row | None, where: tuple[tuple[str, str], ...], least: float, span: float) -> Cell:
    median = None if row is None else row.values.median
    if row is None or median is None:
        return Cell("", 0, "", where)
    colour = mixed(GOOD, BAD, (median - least) / span if span else 0.0)
    return Cell(number(median), row.values.n, painted(colour), where)
