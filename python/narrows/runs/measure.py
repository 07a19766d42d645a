"""A number of a run, with what it is of, what it is, and what one must know to read it.

Everything that a run says of itself in one number is one of these, whichever tool says it. Words and
definitions are those of whoever declares the quantity: a tool in its folder (`narrows.tools.reading`), else
who works it out.
"""

from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from narrows.tools import reading

COLUMNS: dict[str, Any] = {
    "item": pl.String, "part": pl.String, "hop": pl.String, "direction": pl.String, "phase": pl.String,
    "quantity": pl.String, "statistic": pl.String, "value": pl.Float64, "unit": pl.String, "n": pl.Int64,
    "better": pl.String, "words": pl.String, "definition": pl.String,
}  # fmt: skip
"""The fields of a measure as columns."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One number. What it is not of is None: the link's has no item, that of a whole item no direction."""

    quantity: str
    value: float
    unit: str
    words: str
    """What people call it, without its unit."""
    better: str | None = None
    """`reading.MORE`, `LESS`, `CHECK` (it says whether the others count), or None: neither."""
    statistic: str | None = None
    """Which of many samples: `p50`, `mean`, …; None: it is of one."""
    n: int | None = None
    """Samples that it rests on, where that is known."""
    item: str | None = None
    part: str | None = None
    """The part of an item in the plan, where it is not the whole item's."""
    hop: str | None = None
    direction: str | None = None
    phase: str | None = None
    """The time in the run that it is of; None: all of it, or the time that its item ran."""
    definition: str = ""
    reads: str | None = None
    """What it is held against (`reading.QUANTITIES`); None: nothing."""
    layer: str = reading.PAYLOAD
    """What its tool declares that a rate counts."""

    def row(self) -> dict[str, Any]:
        """As a row of the table `measures`."""
        return {name: value for name, value in asdict(self).items() if name in COLUMNS}
