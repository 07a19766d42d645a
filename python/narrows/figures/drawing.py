"""A drawn figure with its caption and the runs it shows: SVG for a page, PNG and PDF for a paper.

A condition that was not measured gives `Missing` with a sentence instead of an empty plot.
"""

import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from narrows.figures.style import styled, without_formulas
from narrows.figures.vector import Vector, vector
from narrows.runs.observed import Observed

NAMED_IN_CAPTION = 6
DPI = 200


@dataclass(frozen=True)
class Missing:
    """A figure that cannot be drawn, and why."""

    name: str
    title: str
    reason: str


@dataclass(frozen=True)
class Drawing:
    """A figure ready to be shown or saved."""

    name: str
    title: str
    caption: str
    run_ids: tuple[str, ...]
    figure: Figure
    is_paper: bool = False
    """Whether its colours mean something on white, as a map's do, so that a dark page leaves them."""

    def vector(self) -> Vector:
        self._lay_out()
        with styled():
            return vector(self.figure, self.name, is_paper=self.is_paper)

    def png(self) -> bytes:
        """The figure as PNG, with the caption and the runs in its text chunks."""
        out = io.BytesIO()
        self._lay_out()
        said = {"Title": self.title, "Description": self.caption, "Runs": " ".join(self.run_ids)}
        self.figure.savefig(out, format="png", dpi=DPI, metadata=said)
        return out.getvalue()

    def _lay_out(self) -> None:
        """Place everything once; savefig would draw each file twice to do it again."""
        without_formulas(self.figure)
        engine = self.figure.get_layout_engine()
        if engine is not None:
            self.figure.set_dpi(DPI)
            engine.execute(self.figure)
            with plt.rc_context({"figure.constrained_layout.use": False}):
                self.figure.set_layout_engine(None)

    def save(self, folder: Path) -> list[Path]:
        """Write NAME.png, NAME.pdf and NAME.json (caption and every run's id)."""
        folder.mkdir(parents=True, exist_ok=True)
        png, pdf, text = (folder / f"{self.name}.{kind}" for kind in ("png", "pdf", "json"))
        png.write_bytes(self.png())
        said = {"Title": self.title, "Subject": self.caption, "Keywords": " ".join(self.run_ids)}
        self.figure.savefig(pdf, format="pdf", metadata=said | {"CreationDate": None})
        facts = {"name": self.name, "title": self.title, "caption": self.caption, "runs": list(self.run_ids)}
        text.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
        return [png, pdf, text]

    def close(self) -> None:
        plt.close(self.figure)


Result = Drawing | Missing


def run_ids(runs: Iterable[Observed]) -> tuple[str, ...]:
    return tuple(sorted({run.run_id for run in runs}))


def count_runs(count: int) -> str:
    """How many runs, for a caption: `n = 24 runs`."""
    return f"n = {count} run" if count == 1 else f"n = {count} runs"


def name_runs(ids: Sequence[str]) -> str:
    """The runs for a caption: all of them when few, else the first and how many more."""
    if len(ids) <= NAMED_IN_CAPTION:
        return f"Runs: {', '.join(ids)}."
    return f"Runs: {', '.join(ids[:3])} and {len(ids) - 3} more (all listed with the figure)."
