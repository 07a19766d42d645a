"""One self-contained HTML page: the answer first, before and after over time, and what was assumed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from narrows.figures.drawing import Drawing
from narrows.figures.style import INK, ITEMS, canvas, styled
from narrows.report.environment import environment
from narrows.report.page import PageFigure
from narrows.whatif import said
from narrows.whatif.fit import FittedPath
from narrows.whatif.measured import Measured
from narrows.whatif.session import Answer
from narrows.whatif.written import Change, known

SHOWN = 20
"""Captures that have a section of their own, the worst first."""


def page(answers: Sequence[Answer], change: Change) -> str:
    ordered = said.worst_first(answers)
    return (
        environment()
        .get_template("whatif.html.j2")
        .render(
            title=f"What if: {change.words()}",
            many=said.of_many(answers, change) if len(answers) > 1 else [],
            headings=said.HEADINGS[1:],
            parts=[_part(answer, change, n) for n, answer in enumerate(ordered[:SHOWN])],
            lines=[said.of_one(answer, change) for answer in ordered[SHOWN:]],
        )
    )


def _part(answer: Answer, change: Change, place: int) -> dict[str, Any]:
    return {
        "name": Path(answer.log).name,
        "headline": said.of_one(answer, change),
        "rows": [row[1:] for row in said.rows(answer)],
        "assumed": assumed(answer.path),
        "picture": _picture(answer, f"over_time_{place}"),
    }


def assumed(path: FittedPath) -> list[str]:
    """What the fit knows, and what it took for granted."""
    megabytes = sum(piece.bytes for piece in path.transfers) / 1e6
    return [
        *known(path),
        f"transfers: {len(path.transfers)}, {megabytes:.3g} MB in all, as the application gave them",
        "the way back limits nothing, and the receiver's stack is that of the kernel under test",
        *path.notes,
    ]


def _picture(answer: Answer, name: str) -> PageFigure:
    figure, axes = canvas(2, 1, row_in=2.2)
    with styled():
        for panel, name, scale, label in (
            (axes[0][0], "seconds", 1e-6, "goodput (Mbit/s)"),
            (axes[1][0], "delays", 1e3, "RTT, median of each second (ms)"),
        ):
            capture = getattr(answer.capture, name) * scale
            panel.plot(np.arange(len(capture)) + 0.5, capture, color=INK, label="the capture")
            _band(panel, [was for _, was, _ in answer.kept], name, scale, ITEMS[0], "as it was")
            _band(panel, [changed for _, _, changed in answer.kept], name, scale, ITEMS[1], "changed")
            panel.set_ylabel(label)
            panel.set_ylim(bottom=0)
        axes[1][0].set_xlabel("time (s)")
        axes[0][0].legend()
    title = "Goodput and RTT over time, before and after"
    n = len(answer.kept)
    caption = f"Lines are medians over the n = {n} draws kept, bands from the least to the greatest of them."
    caption = caption if n else "Only the capture: no run of the fitted path came out as it did."
    return PageFigure("", name, title, caption, (), Drawing(name, title, caption, (), figure).vector())


def _band(panel: Any, runs: Sequence[Measured], name: str, scale: float, colour: str, words: str) -> None:
    """The median over the draws, and from the least to the most of them."""
    if not runs:
        return
    longest = max(len(getattr(run, name)) for run in runs)
    every = np.full((len(runs), longest), np.nan)
    for row, run in zip(every, runs, strict=True):
        row[: len(getattr(run, name))] = getattr(run, name)
    known = ~np.isnan(every).all(axis=0)
    at, every = np.arange(longest)[known] + 0.5, every[:, known] * scale
    panel.fill_between(
        at, np.nanmin(every, axis=0), np.nanmax(every, axis=0), color=colour, alpha=0.2, linewidth=0
    )
    panel.plot(at, np.nanmedian(every, axis=0), color=colour, label=words)
