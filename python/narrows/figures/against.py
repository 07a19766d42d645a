"""Any quantity against any axis, a line for each value of another, with the medians' 95 % intervals.

What is drawn is given as points; labels on the axis and in the legend are as the person wrote them.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from narrows.comparing.conditions import rank
from narrows.figures.drawing import Drawing, count_runs, name_runs
from narrows.figures.style import canvas, styled
from narrows.metrics.statistics.distribution import Distribution
from narrows.metrics.statistics.interval import Interval

SIZE = 1
"""The first part of the rank of labels that are sizes: between words, no line is drawn."""
WIDTH_IN, HEIGHT_IN = 5.2, 3.0
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#5e3c99")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


@dataclass(frozen=True)
class Point:
    """A quantity under the runs that share a label on the axis and one on the line's axis."""

    x: str
    line: str
    quantity: str
    unit: str
    counted: str
    """What n counts."""
    values: Distribution

    @property
    def interval(self) -> Interval | None:
        """Of runs alone: samples of one run depend on each other, so theirs would be too narrow."""
        return self.values.median_interval if self.counted == "runs" else None


def draw(
    points: Sequence[Point], name: str, title: str, x: str, by: str, over: str, run_ids: tuple[str, ...]
) -> Drawing:
    """Labels of the axis stand in order, evenly; `over` says what else differs between runs of a point."""
    ticks = sorted({point.x for point in points}, key=lambda text: rank(x, text))
    several = len({point.quantity for point in points}) > 1
    keys = sorted({(p.quantity, p.line) for p in points}, key=lambda key: (key[0], rank(by, key[1])))
    joined = "-" if all(rank(x, text)[0] == SIZE for text in ticks) else "none"
    figure, [[axes]] = canvas(1, 1, WIDTH_IN, HEIGHT_IN)
    with styled():
        for place, (quantity, line) in enumerate(keys):
            own = {p.x: p for p in points if (p.quantity, p.line) == (quantity, line)}
            shift = 0.0 if len(keys) == 1 else 0.3 * place / (len(keys) - 1) - 0.15
            at = [ticks.index(text) + shift for text in ticks if text in own]
            medians = [own[text].values.median for text in ticks if text in own]
            colour = COLOURS[place % len(COLOURS)]
            mark = MARKS[place // len(COLOURS) % len(MARKS)]
            words = [quantity if several else "", f"{by} {line}" if by else ""]
            label = ", ".join(word for word in words if word)
            axes.plot(at, medians, mark, linestyle=joined, color=colour, markersize=4, label=label)  # type: ignore[arg-type]
            for spot, text in zip(at, [text for text in ticks if text in own], strict=True):
                sure = own[text].interval
                if sure:
                    axes.plot([spot, spot], [sure.low, sure.high], color=colour, linewidth=2)
        axes.set_xticks(range(len(ticks)), ticks)
        axes.set_xlabel(x)
        unit = "" if points[0].unit == "1" else f" [{points[0].unit}]"
        axes.set_ylabel(f"{'share' if several else points[0].quantity}{unit}")
        if by or several:
            figure.legend(loc="outside right upper")
    caption = (
        f"{title}. Marks are medians, {count_runs(len(run_ids))}; bars are the median's 95 % interval by "
        f"order statistics (over runs, none with fewer than six). {over}The numbers: figures/{name}.csv. "
    )
    return Drawing(name, title, f"{caption}{name_runs(run_ids)}", run_ids, figure)


def write_csv(points: Sequence[Point], path: Path, x: str, by: str) -> None:
    """What the figure shows, with every digit; an empty cell is an interval that there is not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([x, *([by] if by else []), "quantity", "unit", "over", "n", "median", "low", "high"])
        for p in points:
            of, sure = p.values, p.interval
            line = [p.line] if by else []
            row = [of.n, of.median, sure.low if sure else None, sure.high if sure else None]
            writer.writerow([p.x, *line, p.quantity, p.unit, p.counted, *row])
