"""One self-contained HTML page: answers, each with how sure and from what, and the evidence as pictures."""

from typing import Any

from narrows.line.identify import answers
from narrows.line.identify.pictures import pictures
from narrows.report.environment import environment
from narrows.tools.identify.records import Report
from narrows.tools.identify.verdict import Verdict

WAYS = {"down": "Download", "up": "Upload"}


def page(report: Report, verdicts: list[Verdict], title: str) -> str:
    megabytes = sum(phase.ip_bytes for phase in report.phases) / 1e6
    return (
        environment()
        .get_template("identify.html.j2")
        .render(
            title=title,
            subtitle=f"narrows identify, {report.mode} mode: {report.elapsed_s:.0f} s, {megabytes:.1f} MB",
            ways=[_way(report, verdict) for verdict in verdicts],
            notes=report.notes,
        )
    )


def _way(report: Report, verdict: Verdict) -> dict[str, Any]:
    answer = verdict.discipline
    differ: dict[str, list[str]] = {}
    for point in verdict.features.code_points:
        if point.treated in ("better", "worse"):
            differ.setdefault(point.treated, []).append(str(point.dscp))
    return {
        "name": WAYS[verdict.way],
        "headline": answer.value or "Cannot tell",
        "why": answer.why,
        "rows": answers.rows(report, verdict),
        "points": "; ".join(f"{how}: DSCP {', '.join(codes)}" for how, codes in differ.items()),
        "pictures": [(each.title, each.vector()) for each in pictures(report, verdict.way)],
    }
