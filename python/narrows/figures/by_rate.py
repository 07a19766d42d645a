"""The frame of every "value by rate and qdisc" figure: rates along x, a box per qdisc, facets for the rest.

Knows how to lay runs out, not what is drawn: the value of a run and the marks per rate are given by the
caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from narrows.comparing.conditions import Queue, facet_title, group, queue_of, queue_rank, rate_text, varying
from narrows.figures.boxes import draw_box, slots
from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs, run_ids
from narrows.figures.style import (
    COLUMN_IN,
    DIRECTION,
    MARK_COLOUR,
    PAGE_IN,
    canvas,
    colour,
    marker,
    queue_name,
    styled,
)
from narrows.metrics.statistics.arrays import Floats
from narrows.runs.observed import Observed

MAX_FACETS = 8
MarkOf = Callable[[Observed, str], float | None]
ValuesOf = Callable[[Observed, str], Floats]


def by_rate(
    runs: Sequence[Observed],
    *,
    name: str,
    title: str,
    what: str,
    y_label: str,
    values_of: ValuesOf,
    mark_of: MarkOf | None = None,
    mark_label: str = "",
    points: bool = True,
    directions: Sequence[str] = ("down", "up"),
    from_zero: bool = True,
) -> Result:
    """Draw it; `what` completes the caption's first sentence, and says what one point is."""
    shown = [r for r in runs if r.ok and any(values_of(r, d).size for d in directions)]
    if not shown:
        return Missing(name, title, "no run in this directory measured it under these conditions")
    extra = varying(shown, besides=("rate", "queue"))
    facets = list(group(shown, extra).items())
    left_out = max(0, len(facets) - MAX_FACETS)
    facets = facets[:MAX_FACETS]
    used = [d for d in directions if any(values_of(r, d).size for r in shown)]
    rates = sorted({r.rate_bps("down") for r in shown})
    queues = sorted({queue_of(r) for r in shown}, key=queue_rank)
    wide = len(rates) * len(queues) > 10
    columns = 1 if wide else len(used)
    panels = [(facet, members, d) for facet, members in facets for d in used]
    rows = -(-len(panels) // columns)
    narrow = columns == 1 and len(rates) * len(queues) <= 4
    figure, grid = canvas(
        rows, columns, COLUMN_IN if narrow else PAGE_IN, sharex=True, sharey="row" if columns > 1 else "none"
    )
    cells = [axes for row in grid for axes in row]
    with styled():
        for axes, (facet, members, direction) in zip(cells, panels, strict=False):
            _panel(axes, members, direction, rates, queues, values_of, mark_of, points)
            words = [DIRECTION[direction], facet_title(extra, facet)]
            axes.set_title(" · ".join(w for w in words if w))
        for axes in cells[len(panels) :]:
            axes.set_visible(False)
        for row in grid:
            row[0].set_ylabel(y_label)
            if from_zero:  # after everything is drawn: it fixes the top too, for the whole row
                row[0].set_ylim(0, row[0].get_ylim()[1] * 1.04)
        for axes in grid[-1]:
            axes.set_xlabel("configured rate of the bottleneck")
        _legend(figure, queues, mark_label if mark_of else "")
    ids = run_ids(r for _, members in facets for r in members)
    counts = [len(same) for same in group(shown, ["rate", "queue", *extra]).values()]
    each = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    caption = f"{what} {count_runs(len(ids))}, {each} per condition. {name_runs(ids)}"
    if left_out:
        caption += f" {left_out} further combination(s) of {', '.join(extra)} are in the table only."
    return Drawing(name, title, caption, ids, figure)


def _panel(
    axes: Axes,
    members: Sequence[Observed],
    direction: str,
    rates: Sequence[float],
    queues: Sequence[Queue],
    values_of: ValuesOf,
    mark_of: MarkOf | None,
    points: bool,
) -> None:
    offsets, width = slots(len(queues))
    for position, rate in enumerate(rates):
        here = [r for r in members if r.rate_bps("down") == rate]
        if here and mark_of is not None:
            level = mark_of(here[0], direction)
            if level is not None:
                axes.plot(
                    [position - 0.45, position + 0.45],
                    [level, level],
                    color=MARK_COLOUR,
                    linewidth=0.8,
                    zorder=1,
                )
        for offset, queue in zip(offsets, queues, strict=True):
            parts = [values_of(r, direction) for r in here if queue_of(r) == queue]
            if parts:
                draw_box(
                    axes,
                    position + offset,
                    np.concatenate(parts),
                    width,
                    colour(queue),
                    marker(queue),
                    points,
                )
    axes.set_xticks(range(len(rates)), [rate_text(rate) for rate in rates])
    axes.set_xlim(-0.55, len(rates) - 0.45)


def _legend(figure: object, queues: Sequence[Queue], mark_label: str) -> None:
    handles = [
        Line2D([], [], color=colour(q), marker=marker(q), linestyle="", markersize=4, label=queue_name(q))
        for q in queues
    ]
    if mark_label:
        handles.append(Line2D([], [], color=MARK_COLOUR, linewidth=0.8, label=mark_label))
    figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 6))  # type: ignore[attr-defined]


def also(conditions: str) -> str:
    """Conditions as the end of a caption's clause; nothing where there are none."""
    return f", {conditions}" if conditions else ""
