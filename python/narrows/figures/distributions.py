"""How long packets wait and probes travel: a curve for each condition, a panel for each queue and load.

Conditions are the axes that the person varied; of more than a figure can tell apart those axes remain that
separate most, and runs that differ in the others are pooled. Empirical distribution functions on
logarithmic axes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator

from narrows.comparing.conditions import group, varying
from narrows.comparing.outcome import outcome
from narrows.comparing.words import condition_name
from narrows.figures.chosen import place_name
from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs, run_ids
from narrows.figures.side_by_side import fewer
from narrows.figures.style import CONDITIONS, DIRECTION, PAGE_IN, legend, nested_width, panels_of, styled
from narrows.metrics.statistics.arrays import Floats
from narrows.metrics.statistics.ecdf import ecdf, weighted_ecdf
from narrows.runs import loaded
from narrows.runs.observed import DIRECTIONS, Observed, pooled

Steps = tuple[Floats, Floats] | None
MOST_COLUMNS = 2
FLOOR_MS = 0.01
"""What a logarithmic axis can show of no waiting."""
TAIL = 0.999
"""An axis ends where so much of each curve is drawn."""


@dataclass(frozen=True)
class _Panel:
    """What is drawn of each condition's runs: a curve, and with it a thin dotted one of the idle time."""

    title: str
    label: str
    curve: Callable[[Sequence[Observed]], Steps]
    idle: Callable[[Sequence[Observed]], Steps] | None = None


def distributions(
    runs: Sequence[Observed], name: str, title: str, ways: Sequence[str] = DIRECTIONS
) -> Result:
    """Time in each queue that packets pass, and the probe's round trips, in the directions with a load."""
    good = [run for run in runs if run.ok]
    panels = [
        (panel, there)
        for panel in _panels(good, [way for way in ways if any(way in loaded.ways(run) for run in good)])
        if (there := [run for run in good if panel.curve([run]) is not None])
    ]
    if not panels:
        return Missing(
            name, title, "no run here has a tap that kept times in the queue, or a probe beside a load"
        )
    axes_of = varying(good)
    every = outcome(good)
    if every is not None and len(group(good, axes_of)) > len(CONDITIONS):
        axes_of = list(fewer(every, len(CONDITIONS)).axes)
    conditions = list(group(good, axes_of).items())[: len(CONDITIONS)]
    columns = min(MOST_COLUMNS, len(panels))
    figure, cells = panels_of(len(panels), columns, PAGE_IN * columns / MOST_COLUMNS, 2.1)
    with styled():
        for axes, (panel, _) in zip(cells, panels, strict=True):
            _draw(axes, panel, [members for _, members in conditions])
        handles = [
            Line2D([], [], color=CONDITIONS[n], linewidth=2, label=condition_name(axes_of, key) or "all runs")
            for n, (key, _) in enumerate(conditions)
        ]
        if any(panel.idle for panel, _ in panels):
            handles.append(Line2D([], [], color="#888888", linestyle=":", label="before the load"))
        legend(figure, handles)
    ids = run_ids(run for _, there in panels for run in there)
    also = [axis for axis in varying(good) if axis not in axes_of]
    caption = (
        "Time in the queue is of every packet that left it in that direction, the whole run (no waiting is "
        f"drawn at the left edge); round trips are the probe's while {loaded.names(good)} loaded that way. "
        f"Repetitions are pooled{', and runs that differ in ' + ', '.join(also) if also else ''}. "
        f"{count_runs(len(ids))}. {name_runs(ids)}"
    )
    return Drawing(name, title, caption, ids, figure)


def _panels(runs: Sequence[Observed], ways: Sequence[str]) -> Iterator[_Panel]:
    hops = dict.fromkeys(hop for run in runs for hop in run.places or ([""] if run.queues else []))
    for way in ways:
        for hop in hops:
            where = f" {place_name(hop)}" if len(hops) > 1 else ""
            yield _Panel(
                f"Time in the queue{where}, {DIRECTION[way]}", "time in the queue [ms]", _sojourn(hop, way)
            )
    for way in ways:
        yield _Panel(
            f"Round trip during the {DIRECTION[way]}",
            "round trip of the probe [ms]",
            _rtts(way),
            _rtts(loaded.IDLE),
        )


def _sojourn(hop: str, way: str) -> Callable[[Sequence[Observed]], Steps]:
    def curve(runs: Sequence[Observed]) -> Steps:
        known = [run.places.get(hop, run.queues if not hop else {}).get(way) for run in runs]
        there = [truth for truth in known if truth is not None]
        waited = np.maximum(pooled(truth.sojourn_ms for truth in there), FLOOR_MS)
        return weighted_ecdf(waited, pooled(truth.sojourn_packets for truth in there))

    return curve


def _rtts(phase: str) -> Callable[[Sequence[Observed]], Steps]:
    return lambda runs: ecdf(pooled(loaded.probe_rtts_ms(run, phase) for run in runs))


def _draw(axes: Axes, panel: _Panel, conditions: Sequence[Sequence[Observed]]) -> None:
    ends = []
    for n, members in enumerate(conditions):
        for read, style, width in (
            (panel.curve, "-", nested_width(n, len(conditions))), (panel.idle, ":", 1.0),
        ):  # fmt: skip
            steps = None if read is None else read(members)
            if steps is not None:
                x, share = from_zero(*steps)
                axes.step(x, share, where="post", color=CONDITIONS[n], linestyle=style, linewidth=width)
                ends += [float(x[0]), float(x[np.searchsorted(share, TAIL)])]
    axes.set_xscale("log")
    axes.set_xlim(min(ends) * 0.9, max(ends) * 1.15)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if max(ends) < 50 * min(ends) else (1.0,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.minorticks_off()
    axes.set_ylim(0, 1.02)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.label)
    axes.set_ylabel("share ≤ x")


def from_zero(x: Floats, share: Floats) -> tuple[Floats, Floats]:
    """The steps with their first rise, which a single value would not show otherwise."""
    return np.concatenate((x[:1], x)), np.concatenate(([0.0], share))
