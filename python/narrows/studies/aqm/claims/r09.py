from narrows.judging.parts import Mark, percent
from narrows.studies.aqm.claims.evidence import IN_LAN, SHAPED, VARIATION, Paper

STRONG_VARIATION = 0.25  # of the test's own 10 ms bins at the bottleneck, median over repetitions
judge = Paper(
    "R9",
    "At 900 Mbit/s with burst shaping and cross traffic, all vary strongly",
    "Figure 9",
    "r09_all_vary_at_900_mbit.py",
    by=("rate", "queue", "burst", "cross"),
    where={**IN_LAN, "rate": "900Mbit", "burst": SHAPED, "cross": "up", "direction": "up"},
    measures=(VARIATION,),
    marks=(Mark(f"strong is at least {percent(STRONG_VARIATION)}", least=STRONG_VARIATION),),
    under="900 Mbit/s, burst shaping, CUBIC cross flow in the upload direction",
)
