from collections.abc import Iterable, Iterator

from narrows.judging.parts import Item, Mark, percent
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.measures import SHARE, Paired, alike

CHANGED = 0.2
"""A part of the fair rate: a share that moves by so much has changed."""
RISES = (("50Mbit", "reno", "batches"), ("50Mbit", "cubic", "batches"))
FALLS = (("8Mbit", "reno", "cubic"),)
"""Rate, and whose share beside whom; as the claim says it moves with the buffer."""


def at_both(runs: Iterable[Observed]) -> Iterator[Item]:
    """Shares at the usual and at twice the queue."""
    every = list(runs)
    for rate, one, other in (*RISES, *FALLS):
        yield from alike(every, rate, [(one, other)], ("usual", "double"))


DOUBLE, USUAL = {"queue": "double"}, {"queue": "usual"}
judge = Paired(
    "T19",
    "buffer size changes outcomes: doubling 4 × BDP lifts NewReno from 22 to 92 % and CUBIC from 27 to 97 % "
    "against the batched download, and drops NewReno against CUBIC from 60 to 28 % at 8 Mbit/s",
    "section 4.5.1, Fig. 4.8",
    "t19_buffer.py",
    by=("rate", "service", "beside", "queue"),
    items=at_both,
    measures=(SHARE,),
    marks=(
        Mark(
            f"rises by {percent(CHANGED)} and more", least=CHANGED, apart=True, against=USUAL,
            where={"rate": "50Mbit", **DOUBLE},
        ),
        Mark(
            f"falls by {percent(CHANGED)} and more", most=-CHANGED, apart=True, against=USUAL,
            where={"rate": "8Mbit", **DOUBLE},
        ),
    ),
)  # fmt: skip
