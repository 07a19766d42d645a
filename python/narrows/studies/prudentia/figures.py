"""The study's figures: matrices of shares, of the link's use and of losses, at both rates."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from narrows.comparing.matrix import LOSS, SHARE, USED, Quantity
from narrows.figures.drawing import Result
from narrows.figures.pair_matrix import draw
from narrows.judging.parts import spelt
from narrows.runs.observed import Observed
from narrows.studies.prudentia import curves
from narrows.studies.prudentia.claims.measures import lengths, of_ten
from narrows.studies.prudentia.testbed import TEN

SECTION = "Heat maps (Figure 4.2 and the thesis' appendix)"
MAPS: dict[str, tuple[str, Quantity]] = {
    "share": ("What share of its max-min fair rate a service gets", SHARE),
    "use": ("How much of the link each pair uses", USED),
    "loss": ("How many of its packets a service loses", LOSS),
}


def figures(runs: Sequence[Observed]) -> list[tuple[str, Callable[[], Result]]]:
    return [
        (SECTION, lambda rate=rate, what=what: heat_map(runs, rate, what))
        for rate in ("8Mbit", "50Mbit")
        for what in MAPS
    ] + curves.figures(runs)


def heat_map(runs: Sequence[Observed], rate: str, what: str) -> Result:
    """The pairs of the ten services at a rate."""
    title, quantity = MAPS[what]
    # Pairs that were tried at several lengths count at one, which may be another than their neighbours'.
    every = [replace(one, conditions=(("rate", rate),)) for one in of_ten(runs, rate)]
    words = f"{title}, at {spelt(rate)}"
    tried = lengths(of_ten(runs, rate))
    return draw(every, quantity, f"{what}_{rate}", words, f"Of {tried}. ", order=TEN)
