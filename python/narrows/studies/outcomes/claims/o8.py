from narrows.judging.parts import Mark
from narrows.studies.outcomes.claims.measures import Outcomes, opposite

MOST = 0.05
judge = Outcomes(
    "O8",
    "Homes of equal score have equal outcomes",
    "draft-ietf-ippm-qoo-10, section 6: percentiles keep no order in time",
    derive=opposite,
    marks=(Mark(f"opposite outcomes in {MOST:.0%} of pairs at most", "opposite", most=MOST, sure=True),),
    count_by="score",
)
