from narrows.judging.parts import Mark
from narrows.studies.corescale.claims.measures import JAIN, Flows, conditions

MIN_JAIN = 0.99
LOSS_BASED = (("reno",), ("cubic",))
judge = Flows(
    "T4",
    "NewReno and CUBIC stay fair at Core, Jain's index above 0.99",
    "section 3.5.1",
    "t04_loss_based_are_fair.py",
    items=conditions(lambda case: case.ccas in LOSS_BASED),
    measures=(JAIN,),
    marks=(Mark(f"above {MIN_JAIN:g}", least=MIN_JAIN, strict=True),),
    needed=("core",),
    count_by="scale",
    decided_by={"quantity": JAIN.name},
)
