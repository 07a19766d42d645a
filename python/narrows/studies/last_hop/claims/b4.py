from narrows.judging.parts import Mark
from narrows.studies.last_hop.claims.measures import MET_P95, LastHop
from narrows.studies.last_hop.testbed import CAKE

TIMES = 1.25
# FQ-CoDel right above the medium has the least that a queue there can do.
judge = LastHop(
    "B4",
    "CAKE at home, at 90 % of what the last hop carries, takes the queue out of it",
    "The usual advice for SQM (sch_cake's manual page, bandwidth)",
    "b2_flows.py",
    by=("flow", "medium", "place"),
    measures=(MET_P95,),
    marks=(
        Mark(
            f"at most {TIMES:g} times the round trip with FQ-CoDel right above the medium", most=TIMES,
            where={"place": CAKE}, against={"place": "router"},
        ),
    ),
)  # fmt: skip
