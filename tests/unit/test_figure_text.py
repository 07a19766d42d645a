"""Text of figures is drawn as it is written, whatever names people have given."""

from __future__ import annotations

from pathlib import Path

from matplotlib.text import Text

from narrows.figures.drawing import Drawing
from narrows.figures.style import canvas, styled

NAME = "a$b$_{"
"""As a formula this is an error."""


def test_a_dollar_sign_begins_no_formula_and_powers_of_ten_stay(tmp_path: Path) -> None:
    figure, grid = canvas(1, 1)
    with styled():
        axes = grid[0][0]
        axes.plot([1, 1000], [1, 2], label=NAME)
        axes.set_xscale("log")
        axes.set_title(NAME)
        axes.set_yticks([1, 2], [NAME, "b"])
        axes.set_xlabel(NAME)
        axes.legend()
    drawing = Drawing("name", NAME, NAME, (), figure)
    drawing.save(tmp_path)
    parsed = {text.get_text() for text in figure.findobj(Text) if text.get_parse_math()}  # type: ignore[attr-defined]
    assert NAME not in parsed
    assert any("10^{3}" in text for text in parsed)
    drawing.close()
