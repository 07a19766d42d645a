from collections.abc import Iterable, Iterator

from narrows.judging.parts import Item, Mark
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.measures import SHARE, Paired, alike

RATE = "50Mbit"
SERVICES = ("download", "cubic", "reno")
DIFFERENT = 1.5
"""The control's share over that of batches, or the other way, must be at least this."""


def beside_five(runs: Iterable[Observed]) -> Iterator[Item]:
    """Each service beside five flows with and without the barrier."""
    every = list(runs)
    for name in SERVICES:
        yield from alike(every, RATE, [(name, "five"), (name, "batches")])


FIVE = {"beside": "five"}
judge = Paired(
    "T12",
    "batched requests shape outcomes: a BBR download gets 33 % against five plain BBR flows and about 90 % "
    "against batches; NewReno and CUBIC 80 to 90 % and 22 to 27 %",
    "section 4.2.3, Fig. 4.4",
    "t12_batches.py",
    items=beside_five,
    measures=(SHARE,),
    marks=(
        Mark(
            f"{DIFFERENT:g} times as much beside batches", least=DIFFERENT,
            where={"service": "download", "beside": "batches"}, against=FIVE,
        ),
        Mark(
            f"{DIFFERENT:g} times as little beside batches", most=1 / DIFFERENT,
            where={"service": ("cubic", "reno"), "beside": "batches"}, against=FIVE,
        ),
    ),
)  # fmt: skip
