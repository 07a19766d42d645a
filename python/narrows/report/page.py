"""Renders the report's one HTML page. Everything is inside it, with the script and the series that draw a run
over time: nothing is loaded from elsewhere."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from narrows.figures.drawing import Missing
from narrows.figures.vector import Vector
from narrows.report.answer import Answer
from narrows.report.environment import environment
from narrows.report.marks import Mark
from narrows.report.over_time import Carried, Scripts
from narrows.report.table import Table
from narrows.runs.observed import Observed

ANSWER = "Answer"
"""The section of the figure that a page begins with."""


@dataclass(frozen=True)
class PageFigure:
    """A figure as the page needs it; `svg` is the drawing itself."""

    section: str
    name: str
    title: str
    caption: str
    run_ids: tuple[str, ...]
    svg: Vector
    has_files: bool = False


@dataclass(frozen=True)
class Asked:
    """An experiment, its question and how many runs are of it."""

    experiment: str
    question: str
    runs: int


def number(value: float | None) -> str:
    """Four significant digits; a dash for what is not known (never 0)."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _kernel(run: Observed) -> str:
    kernel = run.manifest.get("kernel") or {}
    if isinstance(kernel, str):
        return kernel
    return f"{kernel.get('release') or 'unknown release'} (build {kernel.get('id') or 'unknown'})"


def _costs(runs: Sequence[Observed]) -> list[str]:
    """What a second of virtual time cost on each kernel, where runs were made on several."""
    spent: dict[str, tuple[float, float, int]] = {}
    for run in runs:
        used = run.manifest.get("resources") or {}
        cpu_s, virtual_s = used.get("cpu_s"), used.get("virtual_s")
        if run.ok and cpu_s is not None and virtual_s:
            cpu, virtual, n = spent.get(_kernel(run), (0.0, 0.0, 0))
            spent[_kernel(run)] = (cpu + cpu_s, virtual + virtual_s, n + 1)
    if len(spent) < 2:
        return []
    return [
        f"{name}: {number(cpu / virtual)} s (n = {n})" for name, (cpu, virtual, n) in sorted(spent.items())
    ]


def _asked(runs: Sequence[Observed]) -> list[Asked]:
    """What each experiment asked, by its name."""
    named = {run.experiment: run.question for run in runs}
    counts = Counter(run.experiment for run in runs)
    return [Asked(name, named[name], counts[name]) for name in sorted(named)]


def page(
    *,
    name: str,
    runs: Sequence[Observed],
    answer: Answer | None,
    marks: Sequence[Mark],
    figures: Sequence[PageFigure],
    missing: Sequence[Missing],
    table: Table,
    commands: Sequence[Any],
    deviations: Sequence[str],
    conditions: Sequence[tuple[str, Sequence[str]]],
    series: Sequence[Carried] = (),
    scripts: Scripts | None = None,
) -> str:
    """The page as text; the same runs always give the same page."""
    pages = environment()
    pages.filters["number"] = number
    sections = [name for name in dict.fromkeys(f.section for f in figures) if name != ANSWER]
    return pages.get_template("report.html.j2").render(
        name=name,
        asked=_asked(runs),
        good=[r for r in runs if r.ok],
        failed=[r for r in runs if not r.ok],
        answer=answer,
        marks=marks,
        first=[f for f in figures if f.section == ANSWER],
        sections=[(s, [f for f in figures if f.section == s]) for s in sections],
        missing=missing,
        table=table,
        commands=commands,
        deviations=deviations,
        conditions=conditions,
        series=series if scripts is not None else (),
        scripts=scripts,
        kernels=sorted({_kernel(r) for r in runs}),
        costs=_costs(runs),
        engines=sorted({str(r.manifest.get("engine", "")) for r in runs}),
    )
