"""A page's figures of services that met: the matrix of shares, then of how they fared, lost and waited."""

from collections.abc import Callable, Sequence

from narrows.comparing.matrix import DELAY, LOSS, SHARE, USED, Quantity, quantities
from narrows.comparing.pair_shares import Summary, summaries
from narrows.comparing.trials import trials
from narrows.figures.drawing import Result
from narrows.figures.pair_matrix import draw
from narrows.report.page import ANSWER
from narrows.runs.observed import Observed

SECTION = "Who met whom"
MOST_OWN = 4
"""Figures of services' own that have a matrix."""


def figures(runs: Sequence[Observed]) -> list[tuple[str, Callable[[], Result]]]:
    """Each with its section; none where no two services met."""
    every = summaries(trials(runs))
    if not any(len(one.pair) == 2 and one.n for one in every):
        return []
    return [
        (ANSWER if what is SHARE else SECTION, lambda what=what: _drawn(every, what))  # type: ignore[misc]
        for what in told(every)
    ]


def told(every: Sequence[Summary]) -> list[Quantity]:
    """The quantities of a page: the share, how services fared, what they lost, how long they waited."""
    plain = quantities(every)
    own = [
        what for what in plain if what.name in {name for one in every for s in one.sides for name in s.own}
    ]
    return [SHARE, *own[:MOST_OWN], DELAY, LOSS, USED]


def _drawn(every: Sequence[Summary], what: Quantity) -> Result:
    words = "What share of its max-min fair rate each got" if what is SHARE else what.words
    return draw(every, what, f"pairs_{what.name}", f"{words[:1].upper()}{words[1:]}")
