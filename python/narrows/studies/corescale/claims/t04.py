"""T4: NewReno flows, and CUBIC flows, stay fair among themselves at Core."""

from narrows.judging.judge import Mark
from narrows.judging.verdict import Claim
from narrows.studies.corescale.claims.measures import JAIN, Flows, conditions

MIN_JAIN = 0.99
LOSS_BASED = (("reno",), ("cubic",))
CLAIM = Claim(
    "T4",
    "NewReno and CUBIC stay fair at Core, Jain's index above 0.99",
    "section 3.5.1",
    "t04_loss_based_are_fair.py",
    {"quantity": JAIN.name},
)
judge = Flows(
    CLAIM,
    items=conditions(lambda case: case.ccas in LOSS_BASED),
    measures=(JAIN,),
    marks=(Mark(f"above {MIN_JAIN:g}", least=MIN_JAIN, strict=True),),
    needed=("core",),
    count_by="scale",
)
