from collections.abc import Iterator

from narrows.judging.parts import Mark, Number, Numbers
from narrows.studies.outcomes.claims.measures import SCORES, Outcomes, again, ranked

RANKS = 0.7


def derive(numbers: Numbers) -> Iterator[Number]:
    """What scores say of services, and services of themselves."""
    yield from ranked(numbers)
    yield from again(numbers)


judge = Outcomes(
    "O1",
    "A score of a speed test ranks homes as services fare in them",
    "What a reader of a score takes for granted",
    derive=derive,
    marks=(Mark(f"rank correlation of {RANKS:g} and more", "rank correlation", RANKS, sure=True),),
    count_by="score",
    decided_by={"score": SCORES},
)
