"""What the figures of a calibration share: which runs a table is of, its queues, labels of errors."""

from collections.abc import Sequence
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from narrows.calibrate.calibration import Calibration
from narrows.comparing.conditions import queue_rank
from narrows.figures.style import colour, marker, queue_name

ROW_IN = 0.21
SMALL = 6.5
DOT: dict[str, Any] = {"markersize": 5.0, "markeredgewidth": 0}
KIND = "queue_kind"


def percent(x: float, _: object) -> str:
    """A share with its sign, as a percentage."""
    return f"{signed(round(100 * x, 3), _)} %" if x else "0"


def signed(x: float, _: object) -> str:
    return f"{x:+g}".replace("-", "−") if x else "0"


def runs_of(table: pl.DataFrame) -> tuple[str, ...]:
    return tuple(table["run_id"].unique().sort().to_list())


def kinds_of(calibration: Calibration, table: pl.DataFrame) -> pl.DataFrame:
    """With the queue of each run, as the plan says it (the axis may be called otherwise, or be absent)."""
    return table.join(calibration.runs.select("run_id", pl.col("link_queue").alias(KIND)), on="run_id")


def rows(axes: Axes, labels: Sequence[str]) -> None:
    """A row for each label, from the top, with lines of the other axis alone."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(True, axis="x")
    axes.grid(False, axis="y")


def legend(axes: Axes, kinds: Sequence[str]) -> None:
    """The queues, below a figure."""
    handles = [
        Line2D([], [], color=colour(k), marker=marker(k), linestyle="none", markersize=5, label=queue_name(k))
        for k in sorted(kinds, key=queue_rank)
    ]
    axes.figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=min(len(handles), 8),
        fontsize=SMALL,
        handletextpad=0.2,
    )
