"""A drawn figure as SVG that stands in a page: in the page's ink, light or dark, and readable on a phone.

Matplotlib writes it, text as text. Black becomes the ink of the page, and every other colour has a second one
for the dark. A figure of several panels can be read on a narrow screen too: the same drawing is shown there
panel by panel, each cut out by its own view (`Vector.parts`), so that nothing is drawn twice.
"""

from __future__ import annotations

import colorsys
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Box = tuple[float, float, float, float]
"""Left, top, width and height, in points from the upper left corner."""
LEAST_PX = 11.05
"""No text is shown smaller than this."""
SCALE = 1.75
"""CSS pixels a point, where there is room: a figure of 7.1 inches is as wide as a page's text."""
MARGIN = 3.0
PER_INCH = 72
INK, PAPER = "#000000", "#ffffff"
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_HEAD = re.compile(r"<svg\b[^>]*>", re.DOTALL)
_IDLE_ID = re.compile(r' id="[a-zA-Z]+[a-zA-Z0-9.]*_\d+"')
_PATH = re.compile(r'(?<= d=")[^"]*(?=")')
_STEP = re.compile(r"([MLQCz])([^MLQCz]*)")
LONG = 2_000
"""Characters of a path that is a series and no glyph."""
DARK_AT_LEAST = 0.62
DARK_AT_MOST = 0.72
"""Lightness and saturation of a colour on a dark page."""
PALE = 0.88
"""A ground, which is turned over too."""


@dataclass(frozen=True)
class Vector:
    """The drawing's elements, its size, and the panels that it can be cut into."""

    name: str
    body: str
    box: Box
    parts: tuple[Box, ...]
    least_pt: float
    """Its smallest text."""
    is_paper: bool = False

    def alone(self) -> str:
        """As a file: black on white."""
        size = f'width="{self.box[2] * SCALE:.0f}" height="{self.box[3] * SCALE:.0f}"'
        names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
        style = "<style>svg{color:#000;background:#fff;--page:#fff}</style>"
        return f'<svg {names} {size} viewBox="{self.view(self.box)}">{style}{self.body}</svg>'

    def style(self, box: Box) -> str:
        """How wide a view is: as the page has room, and never so narrow that its text is too small."""
        least = box[2] * LEAST_PX / self.least_pt
        return f"width:min(100%,{max(least, SCALE * box[2]):.0f}px);min-width:{least:.0f}px"

    def view(self, box: Box) -> str:
        """Its viewBox."""
        return " ".join(f"{each:.2f}" for each in box)


def vector(figure: Figure, name: str, *, is_paper: bool = False) -> Vector:
    """The figure, laid out already. `is_paper`: its colours mean something on white, so that they stay."""
    out = io.StringIO()
    boxes = _boxes(figure)
    width, height = (inches * PER_INCH for inches in figure.get_size_inches())
    figure.savefig(out, format="svg", dpi=PER_INCH, transparent=not is_paper, metadata={"Date": None})
    text = out.getvalue()
    head = _HEAD.search(text)
    assert head is not None  # it is SVG
    body = re.sub(
        r"<metadata>.*?</metadata>\s*", "", text[head.end() : text.rindex("</svg>")], flags=re.DOTALL
    )
    body = re.sub(r"\s*<!--.*?-->\s*|\n\s*", "\n", body)
    body = _PATH.sub(lambda path: short(path[0]), body)
    for pattern in (r'\bid="(?!\w+_\d+")', r"url\(#", r'xlink:href="#'):  # one name space for all of a page
        body = re.sub(pattern, lambda found: f"{found[0]}{name}-", body)
    body = _IDLE_ID.sub("", body)
    if not is_paper:
        body = _COLOUR.sub(lambda found: themed(found[0]), body)
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: (?:[a-z0-9]+ )*([\d.]+)px", body)]
    return Vector(
        name, body, (0.0, 0.0, float(width), float(height)), boxes, min(sizes, default=LEAST_PX), is_paper
    )


def short(path: str) -> str:
    """A path of Matplotlib's in hundredths of a point, a long one in tenths, each point told from the one
    before: most of a page's bytes are paths, and so they are a third."""
    per_point = 10 if len(path) > LONG else 100
    words: list[str] = []
    x = y = 0
    last = ""
    for letter, numbers in _STEP.findall(path):
        at = [round(per_point * float(number)) for number in numbers.split()]
        step = letter if letter == "M" else letter.lower()
        told = at if letter == "M" else [value - (y if n % 2 else x) for n, value in enumerate(at)]
        words += [*([step] if step != last or letter == "M" else []), *(f"{n / per_point:g}" for n in told)]
        last, (x, y) = step, at[-2:] or (x, y)
    text = re.sub(r"(?<![\d.])0(?=\.)", "", " ".join(words))
    return re.sub(r" (?=[-A-Za-z])|(?<=[A-Za-z]) |(?<=\.\d) (?=\.)|(?<=\.\d\d) (?=\.)", "", text)


def themed(colour: str) -> str:
    """A colour as CSS has it for a light page and a dark one: greys are turned over, others made light."""
    if colour == INK:
        return "currentColor"
    if colour == PAPER:
        return "var(--page)"
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    turned = 1 - 0.85 * lightness if saturation < 0.15 or lightness > PALE else max(lightness, DARK_AT_LEAST)
    parts = colorsys.hls_to_rgb(hue, turned, min(saturation, DARK_AT_MOST))
    dark = "#" + "".join(f"{round(255 * part):02x}" for part in parts)
    return f"light-dark({colour}, {dark})"


def _boxes(figure: Figure) -> tuple[Box, ...]:
    """The panels with all that is written around them, and the legends; none of a figure of one panel."""
    panels = [axes for axes in figure.axes if axes.get_visible()]
    if len(panels) < 2:
        return ()
    dpi, renderer = figure.dpi, figure.canvas.get_renderer()  # type: ignore[attr-defined]
    points = PER_INCH / dpi
    height = figure.get_size_inches()[1] * PER_INCH
    own = [text for text in figure.texts if text.get_text()]
    found = []
    for part in (*figure.legends, *own, *panels):
        around = part.get_tightbbox(renderer)
        if around is not None:
            left, right = around.x0 * points - MARGIN, around.x1 * points + MARGIN
            top, bottom = height - around.y1 * points - MARGIN, height - around.y0 * points + MARGIN
            found.append((left, top, right - left, bottom - top))
    return tuple(found)
