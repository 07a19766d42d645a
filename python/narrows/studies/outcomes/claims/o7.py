from functools import partial

from narrows.judging.parts import Mark
from narrows.studies.outcomes.claims.measures import Outcomes, fitted

RIGHT = 0.9
judge = Outcomes(
    "O7",
    "A threshold of QoO, set on one half of the homes, tells the other half good from bad",
    "draft-ietf-ippm-qoo-10, section 4.9: requirements might be found by trying the application",
    derive=partial(fitted, score="QoO"),
    marks=(Mark(f"homes told rightly: {RIGHT:.0%} and more", "told rightly", RIGHT, sure=True),),
    count_by="service",
)
