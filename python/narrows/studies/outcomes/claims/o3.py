from functools import partial

from narrows.judging.parts import Mark
from narrows.studies.outcomes.claims.measures import Outcomes, told

TELLS = 0.9
judge = Outcomes(
    "O3",
    "Capacity alone tells where services work",
    "What a tariff takes for granted",
    derive=partial(told, names=("capacity",)),
    marks=(Mark(f"area of {TELLS:g} and more", "area", TELLS, sure=True),),
    count_by="service",
)
