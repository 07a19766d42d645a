"""The equivalents of Figures 1 to 9 of Ray et al. (arXiv 2511.19213), where the runs hold their conditions.

Each selects runs by the labels that the study's experiments use: burst "off", "text" or "listing"; cross
"no" or the direction of the cross flow. Other axes that differ (timer latency, burst variant, direction of
the cross flow) become panels, so nothing is pooled in silence.
"""

from collections.abc import Callable, Sequence
from functools import partial

from narrows.figures.drawing import Drawing, Missing, Result
from narrows.figures.instantaneous import instantaneous_throughput_figure
from narrows.figures.latency_by_rate import latency_by_rate
from narrows.figures.throughput import throughput_by_rate
from narrows.runs.observed import Observed, label, select

Draw = Callable[[Sequence[Observed], str, str, str], Result]


def over_time(runs: Sequence[Observed], name: str, title: str, _: str) -> Result:
    """Upload throughput over time."""
    return instantaneous_throughput_figure(runs, name, title, "up")


OFF, BURST = ("off",), ("text", "listing")
NO, CROSS = ("no",), ("up", "down", "both")
FIGURES: tuple[tuple[int, str, Draw, tuple[str, ...], tuple[str, ...], int], ...] = (
    (1, "Throughput without burst shaping, without cross traffic", throughput_by_rate, OFF, NO, 0),
    (2, "Latency without burst shaping, without cross traffic", latency_by_rate, OFF, NO, 0),
    (3, "Throughput with burst shaping, without cross traffic", throughput_by_rate, BURST, NO, 0),
    (4, "Latency with burst shaping, without cross traffic", latency_by_rate, BURST, NO, 0),
    (5, "Throughput with burst shaping and cross traffic", throughput_by_rate, BURST, CROSS, 0),
    (6, "Latency with burst shaping and cross traffic", latency_by_rate, BURST, CROSS, 0),
    (7, "Upload throughput over time at 100 Mbit/s, no load", over_time, OFF, NO, 100),
    (8, "Upload throughput over time at 100 Mbit/s, burst shaping and cross traffic", over_time, BURST, CROSS,
     100),
    (9, "Upload throughput over time at 900 Mbit/s, burst shaping and cross traffic", over_time, BURST, CROSS,
     900),
)  # fmt: skip
"""Number, title, how it is drawn, bursts, cross traffic, and the rate in Mbit/s; 0: all rates."""


def figures(runs: Sequence[Observed]) -> list[tuple[str, Callable[[], Result]]]:
    """What the study's page draws, each with its section."""
    return [("The paper's figures", make) for make in paper_figures(runs)]


def paper_figures(runs: Sequence[Observed]) -> list[Callable[[], Result]]:
    """One callable per figure, so that only one is in memory at a time."""
    return [partial(paper_figure, runs, *each) for each in FIGURES]


def paper_figure(
    runs: Sequence[Observed],
    number: int,
    title: str,
    draw: Draw,
    bursts: tuple[str, ...],
    crosses: tuple[str, ...],
    rate_mbps: int,
) -> Result:
    """A figure of the runs under its conditions; `Missing` where there are none."""
    name, heading = f"paper_fig{number}", f"Figure {number} of the paper: {title}"
    burst = "without burst shaping" if bursts == OFF else "with burst shaping"
    words = f"{burst}, {'without cross traffic' if crosses == NO else 'with one CUBIC cross flow'}"
    chosen = select(runs, burst=bursts, cross=crosses)
    if rate_mbps:
        chosen = [run for run in chosen if run.rate_bps("up") == rate_mbps * 1e6]
        # The paper's bursts are its text's; the listing's are drawn only where there are none of the text's.
        by_burst = ([run for run in chosen if label(run, "burst") == burst] for burst in bursts)
        chosen = next((some for some in by_burst if some), chosen)
    if not chosen:
        at = f" at {rate_mbps} Mbit/s" if rate_mbps else ""
        return Missing(name, heading, f"no run here is {words}{at}")
    result = draw(chosen, name, heading, words)
    return result if isinstance(result, Drawing) else Missing(name, heading, result.reason)
