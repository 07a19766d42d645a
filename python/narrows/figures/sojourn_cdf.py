"""Sojourn time in the bottleneck's queue: its distribution over all packets, per condition, from the tap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from narrows.comparing.conditions import group, queue_of, queue_rank, varying
from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs, run_ids
from narrows.figures.latency_cdf import MAX_PANELS, LineStyle, panel_title
from narrows.figures.latency_cdf import _spread as spread_panels
from narrows.figures.style import DIRECTION, canvas, colour, nested_width, panel_columns, queue_name, styled
from narrows.metrics.statistics.ecdf import weighted_ecdf
from narrows.runs.observed import Observed, QueueTruth, pooled

FLOOR_MS = 0.001  # what a logarithmic axis can show of zero waiting
STYLE: dict[str, LineStyle] = {"down": "-", "up": "--"}


def sojourn_cdf(runs: Sequence[Observed], name: str, title: str) -> Result:
    """Complementary view: share of packets that stood longer than x, on two logarithmic axes, shows the
    tail."""
    shown = [r for r in runs if r.ok and any(truth.sojourn_ms.size for truth in r.queues.values())]
    if not shown:
        return Missing(name, title, "no run has a tap that kept sojourn times")
    by = ["rate", *varying(shown, besides=("rate", "queue"))]
    panels = list(group(shown, by).items())
    left_out = max(0, len(panels) - MAX_PANELS)
    panels = spread_panels(panels, MAX_PANELS)
    titles = [panel_title(by, key, members) for key, members in panels]
    columns = panel_columns(titles)
    rows = -(-len(panels) // columns)
    figure, grid = canvas(rows, columns, row_in=1.75, sharey=True)
    cells = [axes for row in grid for axes in row]
    with styled():
        for axes, title_of, (_, members) in zip(cells, titles, panels, strict=False):
            _panel(axes, members)
            axes.set_title(title_of)
        for axes in cells[len(panels) :]:
            axes.set_visible(False)
        for row in grid:
            row[0].set_ylabel("share of packets > x")
        for axes in cells[max(0, len(panels) - columns) : len(panels)]:
            axes.set_xlabel("sojourn time [ms]")
        queues = sorted({queue_of(r) for r in shown}, key=queue_rank)
        handles = [Line2D([], [], color=colour(q), label=queue_name(q)) for q in queues]
        handles += [
            Line2D([], [], color="#666666", linestyle=style, label=f"{DIRECTION[d]} direction")
            for d, style in STYLE.items()
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    ids = run_ids(r for _, members in panels for r in members)
    caption = (
        "Sojourn time of every packet that left the bottleneck's queue, whole run: share of packets that "
        "stood longer "
        "than x (both axes logarithmic, so the tail is seen; no waiting is drawn at the left edge). "
        f"Repetitions are pooled; a bucket is known to 1.6 %. {count_runs(len(ids))}. {name_runs(ids)}"
    )
    if left_out:
        caption += f" {left_out} further condition(s) are in the table only."
    return Drawing(name, title, caption, ids, figure)


def _panel(axes: Axes, members: Sequence[Observed]) -> None:
    queues = group(members, ["queue"])
    for place, same in enumerate(queues.values()):
        for direction, style in STYLE.items():
            truths: list[QueueTruth] = [r.queues[direction] for r in same if direction in r.queues]
            steps = weighted_ecdf(
                np.maximum(pooled(t.sojourn_ms for t in truths), FLOOR_MS),
                pooled(t.sojourn_packets for t in truths),
            )
            if steps is None:
                continue
            x, share = steps
            above = 1.0 - share
            keep = above > 0
            axes.step(
                np.concatenate(([FLOOR_MS], x[keep])),
                np.concatenate(([1.0], above[keep])),
                where="post",
                color=colour(queue_of(same[0])),
                linestyle=style,
                linewidth=nested_width(place, len(queues)),
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left=FLOOR_MS)
    axes.set_ylim(1e-5, 1.2)
    axes.set_xticks([0.001, 0.01, 0.1, 1, 10, 100], ["≤1 µs", "10 µs", "0.1", "1", "10", "100"])
    axes.minorticks_off()
