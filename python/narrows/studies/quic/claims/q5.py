from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from narrows.judging.parts import Item, Mark, Measure, Number, good
from narrows.metrics.statistics.arrays import Values, clean
from narrows.runs.items import is_kept
from narrows.runs.observed import Observed
from narrows.runs.quantities import numbers
from narrows.studies.quic.claims.measures import CHANGES, OfStacks


def twice(runs: Sequence[Observed]) -> Iterator[Item]:
    """Two runs of a stack that differ in the server's port alone."""
    once, again = (
        {run.key["stack"]: run for run in good(runs, CHANGES, {"time": time})} for time in ("once", "again")
    )
    for stack in sorted(once.keys() & again.keys()):
        both = once[stack], again[stack]
        yield Item(both, {"stack": stack}, tuple(run.run_id for run in both))


def _said(run: Observed) -> dict[tuple[str, ...], float]:
    """Every number that a shard keeps too."""
    figures = {(*map(str, key), ""): value for key, value in run.figures.items() if is_kept(key.quantity)}
    return figures | {(name, of): value for name, of, _, value in numbers(run)}


def differing(both: tuple[Observed, Observed]) -> float:
    """How many of all numbers are not the same to the last digit."""
    first, second = map(_said, both)
    return float(sum(first.get(key) != second.get(key) for key in first.keys() | second.keys()))


def _of_two(name: str, unit: str, values: Values, under: Mapping[str, str], _: bool) -> Number:
    return Number(name, unit, float(np.sum(clean(values))), 2, under)


judge = OfStacks(
    "Q5",
    "A QUIC stack is twice the same from the same seed, whichever port its server has",
    "docs/quic.md, of narrows itself",
    CHANGES,
    items=twice,
    measures=(Measure("numbers that differ", "1", differing, take=_of_two),),
    marks=(Mark("all numbers of rates, delays and losses that are kept, to the last digit", most=0),),
    missing="no stack ran twice",
)
