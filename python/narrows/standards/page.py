"""The page of a standard: the table, and each criterion with its numbers and a picture of the run that
strains its bound most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from narrows.figures.drawing import Missing
from narrows.figures.timeline import timeline
from narrows.judging.verdict import Verdict
from narrows.report.environment import environment
from narrows.report.page import PageFigure
from narrows.runs.observed import Observed
from narrows.standards import written
from narrows.standards.session import Outcome
from narrows.standards.suite import Criterion, Said

PANELS = ("rate_down", "delay_down", "tcp_cwnd")


def write(outcome: Outcome, out: Path, command: str) -> Path:
    """Write OUT/report.html."""
    parts: list[dict[str, Any]] = []
    drawn: dict[str, str] = {}
    for (criterion, verdict), row in zip(outcome.judged, written.rows(outcome), strict=True):
        marks = written.decided(criterion, verdict)
        run = _deciding(criterion, verdict, outcome)
        first = drawn.setdefault(run.run_id, verdict.claim.id) if run else ""
        parts.append(
            {
                "id": verdict.claim.id, "row": row, "reason": verdict.reason, "numbers": verdict.numbers,
                "marks": marks, "first": first,
                "picture": _picture(run, first) if run and first == verdict.claim.id else None,
            }
        )  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    html = out / "report.html"
    page = environment().get_template("standard.html.j2")
    title = f"{outcome.tried.name}: {outcome.suite.title}"
    html.write_text(page.render(title=title, outcome=outcome, parts=parts, command=command, written=written))
    return html


def _deciding(criterion: Criterion | Said, verdict: Verdict, outcome: Outcome) -> Observed | None:
    """The run that strains a bound most."""
    worst = written.deciding(criterion, verdict)
    if worst is None:
        return None
    under = worst.number.conditions.items()
    own = (
        run
        for run in outcome.runs
        if run.experiment == criterion.claim.experiment and under <= run.key.items()
    )
    return next(own)


def _picture(run: Observed, name: str) -> PageFigure | None:
    drawn = timeline(run, f"picture_{name}", run.question, PANELS)
    if isinstance(drawn, Missing):
        return None
    made = PageFigure("", drawn.name, drawn.title, drawn.caption, drawn.run_ids, drawn.vector())
    drawn.close()
    return made
