from narrows.judging.parts import Judge, Mark, Measure
from narrows.studies.outcomes.claims.measures import FARED, breaks, levels

NEAR = 2.0
judge = Judge(
    "O6",
    "Thresholds of IQB and of QoO's example stand where services break",
    "m-lab/iqb, default configuration: a survey of experts; draft-ietf-ippm-qoo-10, figure 1: an example",
    "o3_breaks.py",
    by=("service", "of", "level"),
    items=levels,
    measures=(Measure(FARED, "1", lambda value: value),),
    hidden=(FARED,),
    derive=breaks,
    under="100 Mbit/s each way, 20 ms, FQ-CoDel, one thing changed; the break lies between two levels",
    marks=(Mark(f"within a factor of {NEAR:g} of it", "threshold over break", 1 / NEAR, NEAR, sure=True),),
    count_by="score",
    decided_by={"quantity": "threshold over break"},
)
