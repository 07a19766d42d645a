"""The small table of an answer, as pages and terminals show it: words alone."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A figure: whose it is, what it is, its unit, and which of it is better."""

    whose: str
    """The item; the link's are of nobody: empty."""
    words: str
    unit: str
    better: str | None

    @property
    def head(self) -> str:
        """As a line says it: `theirs: rate [Mbit/s]`."""
        unit = f" [{self.unit}]" if self.unit else ""
        return f"{self.whose}: {self.words}{unit}" if self.whose else f"{self.words}{unit}"


@dataclass(frozen=True)
class Row:
    """A condition: its labels, its runs, and of each column the median with its interval; `marks` says which
    are the best and the worst of their column."""

    labels: tuple[str, ...]
    n: int
    cells: tuple[str, ...]
    marks: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Conditions down, figures across."""

    axes: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    name: str = ""
    """What it is of; of the answer's own nothing."""
    zero: tuple[str, ...] = ()
    """Figures that were 0 in every run."""

    @property
    def items(self) -> list[tuple[str, int]]:
        """Whose columns stand beside each other, and how many."""
        found: list[tuple[str, int]] = []
        for column in self.columns:
            if found and found[-1][0] == column.whose:
                found[-1] = (column.whose, found[-1][1] + 1)
            else:
                found.append((column.whose, 1))
        return found
