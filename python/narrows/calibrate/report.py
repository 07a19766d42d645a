"""Writes a calibration's report: one page that holds everything; figures as PNG and PDF when asked for."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

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


def build(
    calibration: Calibration,
    out: Path,
    progress: Callable[[str], None] | None = None,
    *,
    files: bool = False,
    more: Sequence[tuple[str, str]] = (),
) -> Built:
    """Write OUT/calibration.html; `files`: OUT/figures/* too; `more`: headings and sentences of others."""
    drawn = draw(figures(calibration), out / "figures", progress, files=files)
    html = out / "calibration.html"
    html.write_text(_page(calibration, drawn.figures, drawn.missing, more), encoding="utf-8")
    return Built(html, drawn.files, drawn.missing)


def _page(
    calibration: Calibration,
    drawn: tuple[PageFigure, ...],
    missing: tuple[Missing, ...],
    more: Sequence[tuple[str, str]],
) -> str:
    sections = list(dict.fromkeys(f.section for f in drawn))
    every = as_frame(in_order(calibration.summaries))
    cells = [[f"{v:.5g}" if isinstance(v, float) else v for v in row] for row in every.rows()]
    scenario = calibration.directory / "scenario.py"
    return (
        environment()
        .get_template("calibration.html.j2")
        .render(
            name=calibration.directory.resolve().name,
            question=calibration.question,
            runs=calibration.runs.height,
            failed=calibration.failed.select("run_id", "tool", "error").rows(),
            tools=calibration.tools,
            about=by_test.heading(calibration),
            note=by_test.note(calibration),
            lines=by_test.lines(calibration),
            link=link(calibration),
            short=[*in_short(calibration), *more],
            several=calibration.table["condition"].n_unique() > 1,
            sections=[(s, [f for f in drawn if f.section == s]) for s in sections],
            missing=missing,
            answers=answers(calibration),
            by_condition=by_condition(calibration),
            left_out=calibration.left_out,
            parameters=parameter_rows(calibration),
            costs=cost_rows(calibration),
            every=(every.columns, cells),
            inversions=_pairs(calibration),
            scenario=scenario.read_text(encoding="utf-8") if scenario.exists() else None,
            commands=_commands(calibration),
            notes=NOTES,
            kernels=calibration.runs["kernel_id"].unique().sort().to_list(),
            keys=calibration.runs.select("run_id", "tool", *calibration.axes, "seed")
            .sort("tool", "run_id")
            .rows(),
            key_names=["run_id", "tool", *calibration.axes, "seed"],
        )
    )


def _pairs(calibration: Calibration) -> list[tuple[str, str, str, str, str]]:
    """Every inverted pair of the tools' own answers."""
    return [
        (s.tool, f"{s.metric}, {s.direction}", s.whose, less, more)
        for s in in_order(calibration.summaries)
        if s.origin == "the tool's answer" and s.inversions is not None
        for less, more in s.inversions.which
    ]


def _commands(calibration: Calibration) -> list[tuple[str, list[str]]]:
    """The exact tc lines, once for each set of conditions that has its own."""
    seen: dict[tuple[str, ...], str] = {}
    once = (
        calibration.runs.unique(list(calibration.axes), maintain_order=True, keep="first")
        if calibration.axes
        else calibration.runs.head(1)
    )
    for row in once.iter_rows(named=True):
        plan = Plan.read(Path(row["directory"]) / layout.PLAN).to_dict()
        lines = tuple(
            f"{step['node']}$ {shlex.join([step['tool'], *step['args']])}"
            for step in plan["setup"]
            if step["tool"] == "tc"
        )
        seen.setdefault(lines, " ".join(f"{axis}={row[axis]}" for axis in calibration.axes) or "all runs")
    return [(words, list(lines)) for lines, words in seen.items()]
