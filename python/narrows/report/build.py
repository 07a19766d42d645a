"""Builds the whole report: draws each figure once, writes it as PNG and PDF, and renders one self-contained
page."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from narrows.comparing.conditions import REPETITION, axes, facet_title, given, labels, rank, rate_text
from narrows.comparing.repetitions import independent
from narrows.figures.drawing import Drawing, Missing, Result
from narrows.figures.glitch_figure import glitches_by_rate
from narrows.figures.instantaneous import instantaneous_throughput_figure
from narrows.figures.latency_by_rate import probe_latency_by_rate
from narrows.figures.latency_cdf import latency_cdf
from narrows.figures.places_cdf import places_cdf
from narrows.figures.settling import fairness_over_time, shares_over_time
from narrows.figures.side_by_side import draw as draw_side_by_side
from narrows.figures.sojourn_cdf import sojourn_cdf
from narrows.figures.sojourn_time import sojourn_over_time
from narrows.figures.style import DIRECTION
from narrows.figures.throughput import throughput_by_rate, utilisation_by_rate
from narrows.figures.topology import topology
from narrows.report import pairs
from narrows.report.answer import Answer, answer
from narrows.report.asked_figure import asked
from narrows.report.deviations import deviations
from narrows.report.over_time import carried, is_there, scripts
from narrows.report.page import ANSWER, PageFigure, page
from narrows.report.table import summary, to_csv
from narrows.runs import loaded
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
) -> Built:
    """Write OUT/report.html, OUT/table.csv and OUT/figures/*; `progress` hears the name of each figure as it
    is drawn. `figures` are asked for in words (`asked_figure`). `site`: where a site has the scripts, which
    are else in the page."""
    good, _ = independent([r for r in runs if r.ok])
    own = [asked(words, good).maker(out / "figures") for words in figures]
    drawn = draw([*own, *_figures(runs, good)], out / "figures", progress)
    html, table, said = out / "report.html", summary(good), answer(runs)
    out.mkdir(parents=True, exist_ok=True)
    (out / "table.csv").write_text(to_csv(table), encoding="utf-8")
    html.write_text(
        page(
            name=name,
            runs=runs,
            answer=said,
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
) -> Drawn:
    """Draw figures one by one into a folder, as PNG, PDF and JSON. Each maker comes with its section.

    Figures of an earlier report that are not drawn again are removed.
    """
    files: list[Path] = []
    drawn: list[PageFigure] = []
    missing: list[Missing] = []
    for section, make in makers:
        result = make()
        if progress is not None:
            progress(result.name)
        if isinstance(result, Missing):
            missing.append(result)
            continue
        written, png = result.save(folder)
        files += written
        image = base64.b64encode(png).decode("ascii")
        result.close()
        drawn.append(PageFigure(section, result.name, result.title, result.caption, result.run_ids, image))
    _forget(folder, {figure.name for figure in drawn})
    return Drawn(tuple(drawn), tuple(files), tuple(missing))


def _figures(
    runs: Sequence[Observed], good: Sequence[Observed]
) -> Iterator[tuple[str, Callable[[], Result]]]:
    met = pairs.figures(good)
    yield from met or [(ANSWER, lambda: draw_side_by_side(good, "side_by_side", "Who got what"))]
    yield "Set-up", lambda: topology(runs, "topology", "Topology")
    yield "Throughput", lambda: throughput_by_rate(good, "throughput", "Throughput by rate and queue")
    yield "Throughput", lambda: utilisation_by_rate(good, "utilisation", "Utilisation by rate and queue")
    yield "Latency", lambda: latency_cdf(good, "latency_cdf", "Latency idle and under load")
    yield "Latency", lambda: probe_latency_by_rate(good, "probe_latency", "Latency of the probe under load")
    for direction, word in (("down", "Download"), ("up", "Upload")):
        for rate in _ends(good):
            name, title = (
                f"instantaneous_{direction}_{_slug(rate)}",
                f"{word} throughput over time, {rate_text(rate)}",
            )
            same = [r for r in good if r.rate_bps() == rate]
            yield (
                "Over time",
                lambda s=same, n=name, t=title, d=direction: instantaneous_throughput_figure(s, n, t, d),  # type: ignore[misc]
            )
    if any(run.link.home for run in good):
        for way in _loaded(good):
            yield (
                "The queue",
                lambda d=way: places_cdf(good, f"places_{d}", f"Where packets wait, {DIRECTION[d]}", d),  # type: ignore[misc]
            )
    yield "The queue", lambda: sojourn_cdf(good, "sojourn", "Sojourn time in the bottleneck's queue")
    for direction in _loaded(good):
        for rate in _ends(good):
            name = f"sojourn_time_{direction}_{_slug(rate)}"
            title = f"Sojourn time over the run, {DIRECTION[direction]} direction, {rate_text(rate)}"
            same = [r for r in good if r.rate_bps() == rate]
            yield (
                "The queue",
                lambda s=same, n=name, t=title, d=direction: sojourn_over_time(s, n, t, d),  # type: ignore[misc]
            )
    yield "Glitches", lambda: glitches_by_rate(good, "glitches", "Glitches per minute")
    if any(run.read_many for run in good):
        title = "Fairness over time"
        yield "Many flows", lambda: fairness_over_time(good, "fairness_time", title)
        share_title = "Shares over time"
        yield "Many flows", lambda: shares_over_time(good, "shares_time", share_title)


def _forget(folder: Path, drawn: set[str]) -> None:
    """Remove figures of an earlier report that this one has not: they would pass for its own."""
    for facts in folder.glob("*.json"):
        if facts.stem not in drawn and f'"name": "{facts.stem}"' in facts.read_text():
            for suffix in (".json", ".png", ".pdf"):
                facts.with_suffix(suffix).unlink(missing_ok=True)


def _loaded(runs: Sequence[Observed]) -> list[str]:
    """The directions that something loads, as far as that is known; else the way of downloads."""
    return [d for d in DIRECTION if any(d in loaded.ways(r) for r in runs)] or ["down"]


def _ends(runs: Sequence[Observed]) -> list[float]:
    """The lowest and the highest rate."""
    rates = sorted({r.rate_bps() for r in runs})
    return rates if len(rates) <= 2 else [rates[0], rates[-1]]


def _slug(rate: float) -> str:
    return rate_text(rate).split("/")[0].replace(" ", "")


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
