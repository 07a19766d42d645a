from narrows.judging.parts import Mark
from narrows.studies.outcomes.claims.measures import Outcomes, told

TELLS = 0.9
judge = Outcomes(
    "O2",
    "A score tells homes in which a service is good, or usable, from those in which it is not",
    "draft-ietf-ippm-qoo-10, section 3.3: optimal and unacceptable; IQB: high quality or not",
    derive=told,
    marks=(Mark(f"area of {TELLS:g} and more", "area", TELLS, sure=True),),
    count_by="score",
)
