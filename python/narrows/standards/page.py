"""The page of a standard: the table, and each criterion with its numbers and a picture of the run that strains
its bound most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from narrows.figures.drawing import Drawing, name_runs
from narrows.figures.style import INK, ITEMS, canvas, styled
from narrows.report.environment import environment
from narrows.report.page import PageFigure
from narrows.runs.observed import Observed
from narrows.standards import written
from narrows.standards.reads import FLOW, sender
from narrows.standards.session import Outcome
from narrows.standards.suite import Criterion, Said

SMOOTH = 10
"""Bins of 10 ms that are one point of the picture."""


def write(outcome: Outcome, out: Path, command: str) -> Path:
    """Write OUT/report.html."""
    rows = written.rows(outcome)
    parts = []
    for criterion, verdict, row in zip(outcome.suite.criteria, outcome.verdicts, rows, strict=True):
        parts.append(
            {
                "id": verdict.claim.id, "row": row, "reason": written.why(verdict),
                "marks": [
                    (one.mark.words, written.shown(one.number), one.bound, one.passes)
                    for one in written.decided(criterion, verdict)
                ],
                "numbers": verdict.numbers,
                "picture": _picture(criterion, outcome, verdict),
            }
        )  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    html = out / "report.html"
    page = environment().get_template("standard.html.j2")
    html.write_text(
        page.render(
            title=f"{outcome.tried.name}: {outcome.suite.title}",
            counts=written.counts(outcome), headings=written.HEADINGS, parts=parts,
            facts=written.facts(outcome), command=command, failed=outcome.failed, shown=written.shown,
        ),
        encoding="utf-8",
    )  # fmt: skip
    return html


def _picture(criterion: Criterion | Said, outcome: Outcome, verdict: Any) -> PageFigure | None:
    """Of the run of the contestant whose number strains its bound most."""
    worst = written.deciding(criterion, verdict)
    if worst is None:
        return None
    under = worst.number.conditions.items()
    run = next(
        (one for one in outcome.runs if one.experiment == criterion.claim.experiment and under <= one.key.items()),
        None,
    )
    return None if run is None else draw(run, f"picture_{verdict.claim.id}")


def draw(run: Observed, name: str) -> PageFigure | None:
    """Rates, the time in the queue, and the first sender's window, one below the other."""
    truth = run.truth("down")
    if truth is None:
        return None
    window = sender(run, "cwnd", FLOW)
    figure, axes = canvas(3 if window.value.size else 2, 1, row_in=1.1, sharex=True)
    with styled():
        others = [item for item in truth.throughput_bps if item and item != FLOW]
        for place, item in enumerate([*([FLOW] if FLOW in truth.throughput_bps else []), *others]):
            series = truth.throughput_bps[item]
            size = series.value.size // SMOOTH * SMOOTH
            t, value = (x[:size].reshape(-1, SMOOTH).mean(axis=1) for x in (series.t_s, series.value))
            axes[0][0].plot(t, value / 1e6, color=ITEMS[place % len(ITEMS)], linewidth=0.8, label=item)
        axes[0][0].set_title("rate at the bottleneck [Mbit/s]")
        axes[0][0].legend(loc="upper right", ncols=4, fontsize=6.5)
        delay = truth.sojourn_p50_ms
        axes[1][0].plot(delay.t_s, delay.value, ".", markersize=1.0, color=INK, rasterized=True)
        axes[1][0].set_title("time in the queue [ms]")
        if window.value.size:
            step = max(1, window.value.size // 600)
            axes[2][0].plot(window.t_s[::step], window.value[::step], color=ITEMS[0], linewidth=0.8)
            axes[2][0].set_title("congestion window [packets]")
        for row in axes:
            row[0].set_ylim(bottom=0)
            row[0].set_xlim(left=0)
        axes[-1][0].set_xlabel("time in the run [s]")
    title = f"{run.question} ({' '.join(f'{a}={b}' for a, b in run.key.items())})"
    drawing = Drawing(name, title, name_runs((run.run_id,)), (run.run_id,), figure)
    picture = PageFigure("", name, title, drawing.caption, drawing.run_ids, drawing.vector())
    drawing.close()
    return picture


