"""Where packets wait: sojourn time at the ISP and at home, and the probe's RTT, one curve a condition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator

from narrows.comparing.conditions import facet_title, group, varying
from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs, run_ids
from narrows.figures.style import DIRECTION, canvas, nested_width, styled
from narrows.metrics.statistics.arrays import Floats
from narrows.metrics.statistics.ecdf import ecdf, weighted_ecdf
from narrows.runs import loaded
from narrows.runs.observed import Observed, pooled

PLACES = {"isp": "the ISP's queue", "home": "the home router's queue"}
CURVES = ("#4d4d4d", "#cc79a7", "#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#a6761d")
FLOOR_MS = 0.01
"""What a logarithmic axis can show of no waiting."""


def places_cdf(runs: Sequence[Observed], name: str, title: str, direction: str = "down") -> Result:
    """Three panels: both queues of a direction, and the probe under that load."""
    shown = [r for r in runs if r.ok and set(PLACES) & set(r.places) and loaded.loaders(r, direction)]
    if not shown:
        return Missing(name, title, f"no run of a Home has a load in the {DIRECTION[direction]} direction")
    by = varying(shown) or ["home"]
    conditions = list(group(shown, by).items())
    left_out, conditions = conditions[len(CURVES) :], conditions[: len(CURVES)]
    figure, grid = canvas(1, 3, row_in=2.0)
    cells = grid[0]
    with styled():
        for place, (axes, (hop, where)) in enumerate(zip(cells[:2], PLACES.items(), strict=True)):
            axes.set_title(where)
            axes.set_xlabel("sojourn time [ms]")
            drawn = sum(_sojourn(axes, members, hop, direction, n, len(conditions))
                        for n, (_, members) in enumerate(conditions))  # fmt: skip
            if not drawn:
                axes.text(0.5, 0.5, "no queue here", transform=axes.transAxes, ha="center", fontsize=7)
            axes.set_ylabel("share of packets ≤ x" if place == 0 else "")
        cells[2].set_title("the probe under load")
        cells[2].set_xlabel("RTT [ms]")
        for n, (_, members) in enumerate(conditions):
            _curve(
                cells[2],
                ecdf(pooled(loaded.probe_rtts_ms(r, direction) for r in members)),
                n,
                len(conditions),
            )
        for axes in cells:
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if axes is cells[2] else (1.0,)))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.minorticks_off()
            axes.set_ylim(0, 1.02)
        handles = [cells[0].plot([], [], color=CURVES[n], label=facet_title(by, key))[0]
                   for n, (key, _) in enumerate(conditions)]  # fmt: skip
        figure.legend(handles=handles, loc="outside upper center", ncols=min(4, len(handles)))
    ids = run_ids(r for _, members in conditions for r in members)
    caption = (
        f"Where packets wait while the {DIRECTION[direction]} direction is loaded: sojourn time of every "
        "packet that left the queue at the ISP and at home in that direction, whole run (no waiting is drawn "
        "at the left edge), and the RTT of the probe during the load. Repetitions are pooled. "
        f"{count_runs(len(ids))}. {name_runs(ids)}"
    )
    if left_out:
        caption += f" {len(left_out)} further condition(s) are in the table only."
    return Drawing(name, title, caption, ids, figure)


def _sojourn(axes: Axes, members: Sequence[Observed], hop: str, direction: str, n: int, of: int) -> bool:
    truths = [r.places[hop][direction] for r in members if direction in r.places.get(hop, {})]
    steps = weighted_ecdf(
        np.maximum(pooled(t.sojourn_ms for t in truths), FLOOR_MS), pooled(t.sojourn_packets for t in truths)
    )
    return _curve(axes, steps, n, of)


def _curve(axes: Axes, steps: tuple[Floats, Floats] | None, n: int, of: int) -> bool:
    if steps is None:
        return False
    x, share = steps
    axes.step(
        np.concatenate((x[:1], x)), np.concatenate(([0.0], share)), where="post",
        color=CURVES[n], linewidth=nested_width(n, of),
    )  # fmt: skip
    return True
