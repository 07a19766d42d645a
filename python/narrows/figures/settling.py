"""How the flows came to share: Jain's index and the CCAs' shares per window over the run, a line per run."""

import textwrap
from collections.abc import Callable, Sequence

import polars as pl

from narrows.figures.drawing import Drawing, Missing, Result, name_runs
from narrows.figures.style import PAGE_IN, panels_of, styled
from narrows.runs.flow_case import FlowCase, flow_cases
from narrows.runs.many_flows import FAIRNESS_WINDOW_NS, ManyFlows
from narrows.runs.observed import Observed

MAX_PANELS = 12
COLUMNS = 3
TITLE_CHARACTERS = 36
"""In a line above a panel."""
COLOUR = "#0072b2"
WINDOW = f"in each window of {FAIRNESS_WINDOW_NS / 1e9:g} s, after the warm-up"
SHOWN = ("bbr", "cubic", "reno")
"""Which of several CCAs is drawn: the first of these."""

Cases = Sequence[tuple[FlowCase, Sequence[Observed]]]
"""Runs by condition; a study has words of its own for conditions."""

SeriesOf = Callable[[FlowCase, ManyFlows], pl.DataFrame]
"""t_ns and value of a run; without rows: nothing to draw."""

First = Callable[[FlowCase], bool]


def is_usual(case: FlowCase) -> bool:
    """Whether a condition goes first where there are more than panels."""
    return case.is_usual


def fairness_over_time(
    runs: Sequence[Observed], name: str, title: str, cases: Cases | None = None, first: First = is_usual
) -> Result:
    """Jain's index, a panel per condition."""

    def jain(_: FlowCase, many: ManyFlows) -> pl.DataFrame:
        return many.jain_series.select("t_ns", pl.col("jain").alias("value"))

    caption = (
        f"Jain's index of what all flows delivered {WINDOW}; short windows read as less fair than long ones."
    )
    by_case = cases_of(runs) if cases is None else cases
    return _over_time(by_case, name, title, jain, lambda case: "Jain's index", 1.04, caption, first)


def shares_over_time(
    runs: Sequence[Observed], name: str, title: str, cases: Cases | None = None, first: First = is_usual
) -> Result:
    """The share of one CCA where several meet, a panel per condition."""

    def share(case: FlowCase, many: ManyFlows) -> pl.DataFrame:
        own = many.share_series.filter(pl.col("cca") == _drawn(case))
        return own.select("t_ns", (100 * pl.col("share")).alias("value"))

    caption = f"The CCA's share of what all flows delivered {WINDOW}."
    by_case = cases_of(runs) if cases is None else cases
    return _over_time(
        by_case, name, title, share, lambda case: f"share of {_drawn(case).upper()} (%)", 104, caption, first
    )


def cases_of(runs: Sequence[Observed]) -> Cases:
    return list(flow_cases(runs).items())


def _drawn(case: FlowCase) -> str:
    return next((cca for cca in SHOWN if cca in case.ccas), case.ccas[0])


def _over_time(
    cases: Cases,
    name: str,
    title: str,
    series_of: SeriesOf,
    label_of: Callable[[FlowCase], str],
    top: float,
    caption: str,
    first: First,
) -> Result:
    lines_of: dict[FlowCase, dict[str, pl.DataFrame]] = {}
    for case, same in cases:
        for run in same:
            series = None if run.many is None else series_of(case, run.many).drop_nulls("value")
            if series is not None and series.height > 1:
                lines_of.setdefault(case, {})[run.run_id] = series
    if not lines_of:
        return Missing(name, title, "no run here has such a series of what its flows delivered")
    # Where there are more than places, usual conditions come first, and of these those that moved most.
    chosen = sorted(lines_of, key=lambda case: (not first(case), -max(map(_moved, lines_of[case].values()))))
    panels = [(case, lines) for case, lines in lines_of.items() if case in chosen[:MAX_PANELS]]
    left_out = len(lines_of) - len(panels)
    columns = min(COLUMNS, len(panels))
    wide = PAGE_IN if columns > 1 else PAGE_IN * 0.6
    high = 1.5 if len(panels) > columns else 2.1
    figure, cells = panels_of(len(panels), columns, wide, high, sharey=True)
    with styled():
        for place, (axes, (case, lines)) in enumerate(zip(cells, panels, strict=True)):
            for series in lines.values():
                axes.plot(series["t_ns"] / 1e9, series["value"], color=COLOUR, linewidth=0.7, alpha=0.7)
            axes.set_title(textwrap.fill(case.words(), TITLE_CHARACTERS), fontsize=6.5)
            axes.set_ylim(0, top)
            if place % columns == 0 or label_of(case) != label_of(panels[place - 1][0]):
                axes.set_ylabel(label_of(case))
        for axes in cells[-columns:]:  # the lowest of each column
            axes.set_xlabel("time (s)")
    ids = tuple(sorted(run_id for _, lines in panels for run_id in lines))
    caption = f"{caption} A line per run. {name_runs(ids)}"
    if left_out:
        caption += f" {left_out} further condition(s), variants or those that moved less, are not drawn."
    return Drawing(name, title, caption, ids, figure)


def _moved(series: pl.DataFrame) -> float:
    """How far the mean of the second half lies from that of the first."""
    values = series["value"].to_numpy()
    half = values.size // 2
    return float(abs(values[half:].mean() - values[:half].mean()))
