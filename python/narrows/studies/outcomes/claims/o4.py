from functools import partial

from narrows.judging.parts import Mark
from narrows.studies.outcomes.claims.measures import Outcomes, added

ADDS = 0.02
judge = Outcomes(
    "O4",
    "Latency under load says of a service what capacity does not",
    "draft-ietf-ippm-responsiveness, section 1",
    derive=partial(added, by="working latency"),
    marks=(Mark(f"homes told rightly: {ADDS:.0%} more and above", "added", ADDS, sure=True),),
    count_by="service",
)
