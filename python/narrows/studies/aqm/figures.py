"""The equivalents of Figures 1 to 9 of Ray et al. (arXiv 2511.19213), where the runs hold their conditions.

Each selects runs by the labels that the study's experiments use: burst "off", "text" or "listing"; cross
"no" or the direction of the cross flow. Other axes that differ (timer latency, burst variant, direction of
the cross flow) become panels, so nothing is pooled in silence.
"""

from collections.abc import Callable, Sequence

from narrows.figures.drawing import Drawing, Missing, Result
from narrows.figures.instantaneous import instantaneous_throughput_figure
from narrows.figures.latency_by_rate import latency_by_rate
from narrows.figures.throughput import throughput_by_rate
from narrows.runs.observed import Observed, label, select

BURST = ("text", "listing")
CROSS = ("up", "down", "both")
Draw = Callable[[Sequence[Observed], str, str, str], Result]

_BY_RATE: tuple[tuple[int, str, Draw, tuple[str, ...], tuple[str, ...]], ...] = (
    (1, "Throughput without burst shaping, without cross traffic", throughput_by_rate, ("off",), ("no",)),
    (2, "Latency without burst shaping, without cross traffic", latency_by_rate, ("off",), ("no",)),
    (3, "Throughput with burst shaping, without cross traffic", throughput_by_rate, BURST, ("no",)),
    (4, "Latency with burst shaping, without cross traffic", latency_by_rate, BURST, ("no",)),
    (5, "Throughput with burst shaping and cross traffic", throughput_by_rate, BURST, CROSS),
    (6, "Latency with burst shaping and cross traffic", latency_by_rate, BURST, CROSS),
)
_OVER_TIME = (
    (7, "Upload throughput over time at 100 Mbit/s, no load", 100e6, ("off",), ("no",)),
    (8, "Upload throughput over time at 100 Mbit/s, burst shaping and cross traffic", 100e6, BURST, CROSS),
    (9, "Upload throughput over time at 900 Mbit/s, burst shaping and cross traffic", 900e6, BURST, CROSS),
)


def figures(runs: Sequence[Observed]) -> list[tuple[str, Callable[[], Result]]]:
    """What the study's page draws, each with its section."""
    return [("The paper's figures", make) for make in paper_figures(runs)]


def paper_figures(runs: Sequence[Observed]) -> list[Callable[[], Result]]:
    """One callable per figure, so that only one is in memory at a time."""
    made: list[Callable[[], Result]] = []
    for number, title, draw, bursts, crosses in _BY_RATE:
        made.append(lambda n=number, t=title, d=draw, b=bursts, c=crosses: _rates(runs, n, t, d, b, c))  # type: ignore[misc]
    for number, title, rate, bursts, crosses in _OVER_TIME:
        made.append(lambda n=number, t=title, r=rate, b=bursts, c=crosses: _time(runs, n, t, r, b, c))  # type: ignore[misc]
    return made


def _words(bursts: tuple[str, ...], crosses: tuple[str, ...]) -> str:
    burst = "without burst shaping" if bursts == ("off",) else "with burst shaping"
    cross = "without cross traffic" if crosses == ("no",) else "with one CUBIC cross flow"
    return f"{burst}, {cross}"


def _name(number: int) -> str:
    return f"paper_fig{number}"


def _missing(
    number: int, title: str, bursts: tuple[str, ...], crosses: tuple[str, ...], what: str = ""
) -> Missing:
    return Missing(
        _name(number),
        f"Figure {number} of the paper: {title}",
        f"no run here is {_words(bursts, crosses)}{what}",
    )


def _rates(
    runs: Sequence[Observed],
    number: int,
    title: str,
    draw: Draw,
    bursts: tuple[str, ...],
    crosses: tuple[str, ...],
) -> Result:
    chosen = select(runs, burst=bursts, cross=crosses)
    if not chosen:
        return _missing(number, title, bursts, crosses)
    return draw(chosen, _name(number), f"Figure {number} of the paper: {title}", _words(bursts, crosses))


def _time(
    runs: Sequence[Observed],
    number: int,
    title: str,
    rate_bps: float,
    bursts: tuple[str, ...],
    crosses: tuple[str, ...],
) -> Result:
    chosen = [r for r in select(runs, burst=bursts, cross=crosses) if r.rate_bps("up") == rate_bps]
    # The paper's bursts are its text's; the listing's variant has its own figure only where the text's is
    # absent.
    for variant in bursts:
        preferred = [r for r in chosen if label(r, "burst") == variant]
        if preferred:
            chosen = preferred
            break
    if not chosen:
        return _missing(number, title, bursts, crosses, f" at {rate_bps / 1e6:g} Mbit/s")
    heading = f"Figure {number} of the paper: {title}"
    result = instantaneous_throughput_figure(chosen, _name(number), heading, "up")
    return result if isinstance(result, Drawing) else Missing(_name(number), heading, result.reason)
