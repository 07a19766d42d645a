"""What the study's page draws: readings, delays and services, by medium and by where the queue stands."""

from collections.abc import Callable, Sequence
from functools import partial

from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs, run_ids
from narrows.figures.style import canvas, styled
from narrows.judging.parts import Judge
from narrows.runs.observed import Observed
from narrows.studies.last_hop.claims import b1, b2, b3, b4, b5
from narrows.studies.last_hop.testbed import NAMES, PLACES

SECTION = "The last hop"
COLOURS = dict(zip(NAMES, ("#222222", "#0072b2", "#d55e00", "#009e73", "#cc79a7"), strict=True))
WHERE = {"device": "queue in the device", "router": "queue at the router", "cake90": "CAKE at 90 %"}
ROW_IN = 0.24
TICKS_MS = (30, 50, 100, 200, 400)


def figures(runs: Sequence[Observed]) -> list[tuple[str, Callable[[], Result]]]:
    """Each with its section."""
    made: list[tuple[str, str, Judge, str, str, float, bool]] = [
        ("b1_readings", "What speed tests read of what is carried", b1.judge, "reading over what is carried",
         "reading, % of what is carried", 100.0, False),
        ("b2_delays", "What others meet while a test runs", b2.judge, "round trip that another meets, median",
         "median round trip [ms]", 1.0, True),
        ("b3_goodput", "What flows use of what is carried", b3.judge, "goodput over what is carried",
         "goodput, % of what is carried", 100.0, False),
        ("b4_delays", "What others meet beside a flow", b4.judge, "round trip that another meets, p95",
         "p95 round trip [ms]", 1.0, True),
        ("b5_video", "A video beside a download", b5.judge, "mean bitrate",
         "mean bitrate [Mbit/s]", 1e-6, False),
        ("b5_call", "A call beside a download", b5.judge, "lines", "lines of the picture", 1.0, False),
    ]  # fmt: skip
    return [(SECTION, partial(dots, runs, *each)) for each in made]


def dots(
    runs: Sequence[Observed],
    name: str,
    title: str,
    judge: Judge,
    number: str,
    axis: str,
    scale: float,
    logarithmic: bool,
) -> Result:
    """A number of a claim: a row for each who, a panel for each place of the queue, a dot a medium."""
    verdict = judge(runs)
    points = {tuple(each.conditions.values()): each for each in verdict.numbers if each.name == number}
    if not points:
        return Missing(name, title, f"no run of it: narrows run {verdict.claim.name}")
    rows = sorted({who for who, _, _ in points})
    figure, grid = canvas(1, len(PLACES), row_in=0.9 + ROW_IN * len(rows), sharex=True, sharey=True)
    with styled():
        for axes, place in zip(grid[0], PLACES, strict=True):
            for at, who in enumerate(rows):
                for step, medium in enumerate(NAMES):
                    one = points.get((who, medium, place))
                    if one is not None:
                        y = at + 0.14 * (step - (len(NAMES) - 1) / 2)
                        axes.plot(scale * one.value, y, "o", color=COLOURS[medium], markersize=4)
            if logarithmic:
                axes.set_xscale("log")
                axes.xaxis.set_major_locator(FixedLocator(TICKS_MS))
                axes.xaxis.set_major_formatter(ScalarFormatter())
                axes.xaxis.set_minor_locator(NullLocator())
            axes.set_title(WHERE[place])
            axes.set_yticks(range(len(rows)), [each.replace("_", " ") for each in rows])
            axes.set_ylim(len(rows) - 0.5, -0.5)
            axes.grid(True, axis="x")
            axes.set_xlabel(axis)
        for medium in NAMES:
            grid[0][0].plot([], [], "o", color=COLOURS[medium], label=medium, markersize=4)
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=len(NAMES))
    ids = run_ids([run for run in runs if run.run_id in verdict.run_ids])
    caption = f"{verdict.conditions}. {count_runs(len(ids))}. {name_runs(ids)}"
    return Drawing(name, title, caption, ids, figure)
