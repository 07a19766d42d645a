from collections.abc import Iterator, Sequence

from narrows.judging.parts import Item, Mark, Measure, good
from narrows.runs.items import is_kept
from narrows.runs.observed import Observed
from narrows.runs.quantities import numbers
from narrows.spec.axis import SEED
from narrows.studies.quic.claims.measures import CHANGES, OfStacks


def twice(runs: Sequence[Observed]) -> Iterator[Item]:
    """Two runs of a stack that differ in the server's port alone."""
    once, again = (
        {(run.key["stack"], run.key[SEED]): run for run in good(runs, CHANGES, {"time": time})}
        for time in ("once", "again")
    )
    for of in sorted(once.keys() & again.keys()):
        both = once[of], again[of]
        yield Item(both, both[0].key, tuple(run.run_id for run in both))


def _said(run: Observed) -> dict[tuple[str, ...], float]:
    """Every number that a shard keeps too."""
    figures = {(*map(str, key), ""): value for key, value in run.figures.items() if is_kept(key.quantity)}
    return figures | {(name, of): value for name, of, _, value in numbers(run)}


def differing(both: tuple[Observed, Observed]) -> float:
    """How many of all numbers are not the same to the last digit."""
    first, second = map(_said, both)
    return float(sum(first.get(key) != second.get(key) for key in first.keys() | second.keys()))


judge = OfStacks(
    "Q5",
    "A QUIC stack is twice the same from the same seed, whichever port its server has",
    "docs/quic.md, of narrows itself",
    CHANGES,
    items=twice,
    measures=(Measure("numbers that differ", "1", differing),),
    marks=(
        Mark("all numbers of rates, delays and losses that are kept, to the last digit", most=0, each=True),
    ),
    missing="no stack ran twice",
)
