from narrows.judging.parts import Mark, percent
from narrows.studies.aqm.claims.evidence import IN_LAN, SHAPED, VARIATION, Paper

STABLE_VARIATION = 0.10  # of the test's own 10 ms bins at the bottleneck, median over repetitions
STABLE_QUEUES = ("fq_codel", "sfq")
UNSTABLE_QUEUES = ("pfifo", "codel")
judge = Paper(
    "R8",
    "At 100 Mbit/s with burst shaping and cross traffic, FQ-CoDel and SFQ stay stable, no AQM and CoDel do "
    "not",
    "Figure 8",
    "r08_fair_queues_stay_stable.py",
    by=("rate", "queue", "burst", "cross"),
    where={**IN_LAN, "rate": "100Mbit", "burst": SHAPED, "cross": "up", "direction": "up"},
    measures=(VARIATION,),
    marks=(
        Mark(f"at most {percent(STABLE_VARIATION)}", most=STABLE_VARIATION, where={"queue": STABLE_QUEUES}),
        Mark(
            "more without fair queueing", least=STABLE_VARIATION, strict=True,
            where={"queue": UNSTABLE_QUEUES},
        ),
    ),
    under="100 Mbit/s, burst shaping, CUBIC cross flow in the upload direction",
)  # fmt: skip
