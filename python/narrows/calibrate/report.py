"""Writes a calibration's report: each figure as PNG and PDF, and one page that holds everything."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from narrows.calibrate import by_test
from narrows.calibrate.calibration import Calibration
from narrows.calibrate.compare import as_frame
from narrows.calibrate.figures import figures
from narrows.calibrate.plain import in_short, link
from narrows.calibrate.tables import answers, by_condition, cost_rows, in_order, parameter_rows
from narrows.engine import layout
from narrows.figures.drawing import Missing
from narrows.plan.model import Plan
from narrows.report.build import Built, draw
from narrows.report.environment import environment
from narrows.report.page import PageFigure

NOTES = (
    "A scenario runs in virtual time: no CPU cost, timers exact. What a slow client or router adds is not "
    "in it.",
    "Truth of delay: sojourn at the bottleneck in the loaded direction, plus the median sojourn of the same "
    "party's packets in the other direction. Delay elsewhere on the path is the base RTT, measured unloaded.",
    "Truth of capacity: the configured rate less what all others sent through the bottleneck during the "
    "load, as "
    "TCP payload in full packets with timestamps. It is what was left, not what a fair share would have "
    "been.",
    "When a tool loads a direction is read from its own packets of 500 bytes and more at the bottleneck.",
    "Tools labelled as models follow a published description, not a program.",
)


def build(found: Calibration, out: Path, progress: Callable[[str], None] | None = None) -> Built:
    """Write OUT/calibration.html and OUT/figures/*."""
    drawn = draw(figures(found), out / "figures", progress)
    html = out / "calibration.html"
    html.write_text(_page(found, drawn.figures, drawn.missing), encoding="utf-8")
    return Built(html, drawn.files, drawn.missing)


def _page(found: Calibration, drawn: tuple[PageFigure, ...], missing: tuple[Missing, ...]) -> str:
    sections = list(dict.fromkeys(f.section for f in drawn))
    every = as_frame(in_order(found.summaries))
    return (
        environment()
        .get_template("calibration.html.j2")
        .render(
            name=found.directory.resolve().name,
            question=found.question,
            runs=found.runs.height,
            failed=found.failed.select("run_id", "tool", "error").rows(),
            tools=found.tools,
            about=by_test.heading(found),
            note=by_test.note(found),
            lines=by_test.lines(found),
            link=link(found),
            short=in_short(found),
            several=found.table["condition"].n_unique() > 1,
            sections=[(s, [f for f in drawn if f.section == s]) for s in sections],
            missing=missing,
            answers=answers(found),
            by_condition=by_condition(found),
            left_out=found.left_out,
            parameters=parameter_rows(found),
            costs=cost_rows(found),
            every=(every.columns, [[_cell(v) for v in row] for row in every.rows()]),
            inversions=_pairs(found),
            scenario=_scenario(found),
            commands=_commands(found),
            notes=NOTES,
            kernels=found.runs["kernel_id"].unique().sort().to_list(),
            keys=found.runs.select("run_id", "tool", *found.axes, "seed").sort("tool", "run_id").rows(),
            key_names=["run_id", "tool", *found.axes, "seed"],
        )
    )


def _cell(value: Any) -> Any:
    return f"{value:.5g}" if isinstance(value, float) else value


def _pairs(found: Calibration) -> list[tuple[str, str, str, str, str]]:
    """Every inverted pair of the tools' own answers."""
    return [
        (s.tool, f"{s.metric}, {s.direction}", s.whose, less, more)
        for s in in_order(found.summaries)
        if s.origin == "the tool's answer" and s.inversions is not None
        for less, more in s.inversions.which
    ]


def _scenario(found: Calibration) -> str | None:
    path = found.directory / "scenario.py"
    return path.read_text(encoding="utf-8") if path.exists() else None


def _commands(found: Calibration) -> list[tuple[str, list[str]]]:
    """The exact tc lines, once for each set of conditions that has its own."""
    seen: dict[tuple[str, ...], str] = {}
    once = (
        found.runs.unique(list(found.axes), maintain_order=True, keep="first")
        if found.axes
        else found.runs.head(1)
    )
    for row in once.iter_rows(named=True):
        plan = Plan.read(Path(row["directory"]) / layout.PLAN).to_dict()
        lines = tuple(
            f"{step['node']}$ {shlex.join([step['tool'], *step['args']])}"
            for step in plan["setup"]
            if step["tool"] == "tc"
        )
        seen.setdefault(lines, " ".join(f"{axis}={row[axis]}" for axis in found.axes) or "all runs")
    return [(words, list(lines)) for lines, words in seen.items()]
