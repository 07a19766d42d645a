"""Builds the whole report: draws each figure once and renders one self-contained page; PNG and PDF when they
are asked for."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from narrows.comparing.conditions import REPETITION, axes, facet_title, given, labels, rank
from narrows.comparing.repetitions import independent
from narrows.figures.distributions import distributions
from narrows.figures.drawing import Drawing, Missing, Result
from narrows.figures.settling import fairness_over_time, shares_over_time
from narrows.figures.side_by_side import draw as draw_side_by_side
from narrows.figures.topology import topology
from narrows.report import pairs
from narrows.report.answer import Answer, answer
from narrows.report.asked_figure import asked
from narrows.report.deviations import deviations
from narrows.report.marks import marks
from narrows.report.over_time import carried, is_there, scripts
from narrows.report.page import ANSWER, PageFigure, page
from narrows.report.table import summary, to_csv
from narrows.runs.observed import NO_LABEL, Observed, label

MOST_LABELS = 4
"""Of one axis that are named above a set of `tc` lines."""


@dataclass(frozen=True)
class Built:
    """What was written, and which figures the runs could not give."""

    html: Path
    figures: tuple[Path, ...]
    missing: tuple[Missing, ...]
    answer: Answer | None = None


@dataclass(frozen=True)
class Drawn:
    """Figures for a page, the files they were written to, and those that could not be drawn."""

    figures: tuple[PageFigure, ...]
    files: tuple[Path, ...]
    missing: tuple[Missing, ...]


@dataclass(frozen=True)
class Commands:
    """The same `tc` lines of some runs."""

    conditions: str
    run_ids: tuple[str, ...]
    lines: tuple[str, ...]


def build(
    runs: Sequence[Observed],
    name: str,
    out: Path,
    progress: Callable[[str], None] | None = None,
    figures: Sequence[str] = (),
    site: str = "",
    *,
    files: bool = False,
) -> Built:
    """Write OUT/report.html and OUT/table.csv; `progress` hears the name of each figure as it is drawn.
    `figures` are asked for in words (`asked_figure`). `site`: where a site has the scripts, which are else in
    the page. `files`: write OUT/figures/* too."""
    good, _ = independent([r for r in runs if r.ok])
    own = [asked(words, good).maker(out / "figures") for words in figures]
    drawn = draw([*own, *_figures(runs, good)], out / "figures", progress, files=files)
    html, table, said = out / "report.html", summary(good), answer(runs)
    out.mkdir(parents=True, exist_ok=True)
    (out / "table.csv").write_text(to_csv(table), encoding="utf-8")
    html.write_text(
        page(
            name=name,
            runs=runs,
            answer=said,
            marks=marks(runs),
            figures=drawn.figures,
            missing=drawn.missing,
            table=table,
            commands=tc_commands(runs),
            deviations=deviations(runs),
            conditions=[(axis, given(runs, axis)) for axis in axes(runs)],
            series=carried(good) if is_there() else (),
            scripts=scripts(site),
        ),
        encoding="utf-8",
    )
    return Built(html, drawn.files, drawn.missing, said)


def draw(
    makers: Iterable[tuple[str, Callable[[], Result]]],
    folder: Path,
    progress: Callable[[str], None] | None = None,
    *,
    files: bool = False,
) -> Drawn:
    """Draw figures one by one for a page, each with its section; `files`: also into the folder, as PNG, PDF
    and JSON. Figures of an earlier report that are not written again are removed."""
    written: list[Path] = []
    drawn: list[PageFigure] = []
    missing: list[Missing] = []
    for section, make in makers:
        result = make()
        if progress is not None:
            progress(result.name)
        if isinstance(result, Missing):
            missing.append(result)
            continue
        about = (result.name, result.title, result.caption, result.run_ids)
        drawn.append(PageFigure(section, *about, result.vector(), files))
        written += result.save(folder) if files else []
        result.close()
    _forget(folder, {path.stem for path in written})
    return Drawn(tuple(drawn), tuple(written), tuple(missing))


def _figures(
    runs: Sequence[Observed], good: Sequence[Observed]
) -> Iterator[tuple[str, Callable[[], Result]]]:
    yield from pairs.figures(good) or [(ANSWER, lambda: first_figure(good))]
    yield "Set-up", lambda: topology(runs, "topology", "Topology")
    yield (
        "Distributions",
        lambda: distributions(good, "distributions", "How long packets wait, and probes travel"),
    )
    if any(run.read_many for run in good):
        yield "Many flows", lambda: fairness_over_time(good, "fairness_time", "Fairness over time")
        yield "Many flows", lambda: shares_over_time(good, "shares_time", "Shares over time")


def first_figure(good: Sequence[Observed]) -> Result:
    """The figure that a page begins with: who got what; of services that met the matrix of their shares."""
    met = pairs.figures(good)
    return met[0][1]() if met else draw_side_by_side(good, "side_by_side", "Who got what")


def _forget(folder: Path, drawn: set[str]) -> None:
    """Remove figures of an earlier report that this one has not: they would pass for its own."""
    for facts in folder.glob("*.json"):
        if facts.stem not in drawn and f'"name": "{facts.stem}"' in facts.read_text():
            for suffix in (".json", ".png", ".pdf"):
                facts.with_suffix(suffix).unlink(missing_ok=True)


def tc_commands(runs: Sequence[Observed]) -> list[Commands]:
    """Each distinct set of `tc` lines with the runs that used it."""
    by: dict[tuple[str, ...], list[Observed]] = defaultdict(list)
    for run in runs:
        lines = tuple(f"{step.node}$ {step.command()}" for step in run.plan.setup if step.tool == "tc")
        by[lines].append(run)
    found = []
    every = axes(runs)
    for lines, same in sorted(by.items(), key=lambda x: [rank(a, label(x[1][0], a)) for a in every]):
        own = {axis: labels(same, axis) for axis in every if axis != REPETITION}
        told = [axis for axis, texts in own.items() if _tells(texts, labels(runs, axis))]
        words = facet_title(told, [" or ".join(own[axis]) for axis in told])
        found.append(Commands(words, tuple(sorted(r.run_id for r in same)), lines))
    return found


def _tells(texts: Sequence[str], every: Sequence[str]) -> bool:
    """Whether an axis says of these runs what they are: each has a label, and it is one, or few of more."""
    few = len(texts) <= MOST_LABELS and len(texts) < len(every)
    return NO_LABEL not in texts and (len(texts) == 1 or few)


__all__ = ["Built", "Commands", "Drawing", "build", "tc_commands"]
