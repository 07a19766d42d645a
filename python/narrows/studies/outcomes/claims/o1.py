from narrows.judging.parts import Mark
from narrows.studies.outcomes.claims.measures import SCORES, Outcomes, ranked

RANKS = 0.7
judge = Outcomes(
    "O1",
    "A score of a speed test ranks homes as services fare in them",
    "What a reader of a score takes for granted",
    derive=ranked,
    marks=(Mark(f"rank correlation of {RANKS:g} and more", "rank correlation", RANKS),),
    count_by="score",
    decided_by={"score": SCORES},
)
