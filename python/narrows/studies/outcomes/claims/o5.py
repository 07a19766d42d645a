from functools import partial

from narrows.judging.parts import Mark
from narrows.studies.outcomes.claims.measures import Outcomes, added

ADDS = 0.02
judge = Outcomes(
    "O5",
    "Loss says of a service what capacity does not",
    "IQB: loss weighs as much as capacity",
    derive=partial(added, by="loss"),
    marks=(Mark(f"homes told rightly: {ADDS:.0%} more and above", "added", ADDS, sure=True),),
    count_by="service",
)
