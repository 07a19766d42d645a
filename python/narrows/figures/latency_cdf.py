"""Latency idle and under load: empirical CDFs of the isochronous probe, one panel per condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from narrows.comparing.conditions import facet_title, group, queue_of, queue_rank, rate_text, varying
from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs, run_ids
from narrows.figures.style import DIRECTION, canvas, colour, nested_width, panel_columns, queue_name, styled
from narrows.metrics.statistics.arrays import Floats
from narrows.metrics.statistics.ecdf import ecdf
from narrows.runs import loaded
from narrows.runs.observed import Observed, pooled

LineStyle = Literal["-", "--", ":"]
PHASES: dict[str, LineStyle] = {"idle": ":", "down": "-", "up": "--"}
PHASE_NAME = {"idle": "idle", **{d: f"during {n}" for d, n in DIRECTION.items()}}
MAX_PANELS = 12
TAIL = 0.999
# From here on (largest over smallest value) the axis is logarithmic.
FACTOR = 2


def latency_cdf(runs: Sequence[Observed], name: str, title: str) -> Result:
    """One panel per rate and combination of the other axes; colour is the qdisc, line style the phase."""
    shown = [r for r in runs if r.ok and any(loaded.probe_rtts_ms(r, phase).size for phase in PHASES)]
    if not shown:
        return Missing(
            name, title, "no run in this directory has an isochronous probe beside a load or before it"
        )
    by = ["rate", *varying(shown, besides=("rate", "queue"))]
    panels = list(group(shown, by).items())
    left_out = max(0, len(panels) - MAX_PANELS)
    panels = _spread(panels, MAX_PANELS)
    titles = [panel_title(by, key, members) for key, members in panels]
    columns = panel_columns(titles)
    rows = -(-len(panels) // columns)
    figure, grid = canvas(rows, columns, row_in=1.75)
    cells = [axes for row in grid for axes in row]
    with styled():
        ends = [
            end for axes, (_, members) in zip(cells, panels, strict=False) for end in _panel(axes, members)
        ]
        smallest, largest = min(ends, default=0.0), max(ends, default=0.0)
        spans_a_factor = largest >= FACTOR * smallest
        for axes, title_of, (_, members) in zip(cells, titles, panels, strict=False):
            (_log_axis if spans_a_factor else _linear_axis)(axes, smallest, largest)
            axes.set_ylim(0, 1.01)
            axes.set_title(title_of)
            if not any(loaded.ways(r) for r in members):
                axes.text(
                    0.97, 0.5, "before the load only", transform=axes.transAxes, ha="right", fontsize=6.5
                )
        for axes in cells[len(panels) :]:
            axes.set_visible(False)
        for row in grid:
            row[0].set_ylabel("share of probes ≤ x")
        for axes in cells[max(0, len(panels) - columns) : len(panels)]:
            axes.set_xlabel("probe RTT [ms]")
        _legend(figure, shown)
    ids = run_ids(r for _, members in panels for r in members)
    probe = shown[0].probe()
    interval = f"{probe.interval_ms:g} ms" if probe else "?"
    caption = (
        f"Round-trip times of the isochronous probe (one every {interval}) through the bottleneck: idle, "
        f"and while {loaded.names(shown)} ran. Repetitions are pooled; lost probes are not in the "
        "curves (see the table). "
        "Where a test does not say when it downloads and uploads, only the time before it is drawn. "
        f"The axis is {'logarithmic' if spans_a_factor else 'linear'}, the same in all panels, and ends at "
        f"the {TAIL:.1%} point. "
        f"{count_runs(len(ids))}. {name_runs(ids)}"
    )
    if left_out:
        caption += f" {left_out} further condition(s) are in the table only."
    return Drawing(name, title, caption, ids, figure)


def panel_title(by: Sequence[str], key: Sequence[str], members: Sequence[Observed]) -> str:
    """The rate, then what else this panel's runs share; `by` begins with the rate."""
    text = facet_title(by[1:], key[1:])
    return rate_text(members[0].rate_bps()) + (f" · {text}" if text else "")


def _spread(
    panels: list[tuple[tuple[str, ...], list[Observed]]], most: int
) -> list[tuple[tuple[str, ...], list[Observed]]]:
    """At most `most` panels, evenly over all of them, so that low and high rates are both seen."""
    if len(panels) <= most:
        return panels
    chosen = np.unique(np.linspace(0, len(panels) - 1, most).round().astype(int))
    return [panels[k] for k in chosen]


def _panel(axes: Axes, members: Sequence[Observed]) -> list[float]:
    """Draws the curves; gives where each begins and ends."""
    ends: list[float] = []
    queues = group(members, ["queue"])
    for place, same in enumerate(queues.values()):
        kind = queue_of(same[0])
        for phase, style in PHASES.items():
            rtt = pooled(loaded.probe_rtts_ms(r, phase) for r in same)
            steps = ecdf(rtt)
            if steps is None:
                continue
            x, share = steps
            width = nested_width(place, len(queues))
            axes.step(
                *from_zero(x, share), where="post", color=colour(kind), linestyle=style, linewidth=width
            )
            ends += [float(x[0]), float(np.quantile(rtt, TAIL))]
    return ends


def _linear_axis(axes: Axes, smallest: float, largest: float) -> None:
    margin = max(0.05 * (largest - smallest), 0.25)
    axes.set_xlim(smallest - margin, largest + margin)


def _log_axis(axes: Axes, smallest: float, largest: float) -> None:
    axes.set_xscale("log")
    if largest > 0:
        axes.set_xlim(smallest * 0.9, largest * 1.1)
    steps = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
    ticks = [t for t in steps if smallest * 0.9 <= t <= largest * 1.1]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()


def from_zero(x: Floats, share: Floats) -> tuple[Floats, Floats]:
    """The steps with their first rise, which a single value would not show otherwise."""
    return np.concatenate((x[:1], x)), np.concatenate(([0.0], share))


def _legend(figure: object, shown: Sequence[Observed]) -> None:
    queues = sorted({queue_of(r) for r in shown}, key=queue_rank)
    handles = [Line2D([], [], color=colour(q), label=queue_name(q)) for q in queues]
    handles += [Line2D([], [], color="#666666", linestyle=s, label=PHASE_NAME[p]) for p, s in PHASES.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))  # type: ignore[attr-defined]
