from narrows.judging.parts import Mark, percent
from narrows.studies.aqm.claims.evidence import IN_LAN, VARIATION, Paper

STABLE_VARIATION = 0.10
judge = Paper(
    "R7",
    "Instantaneous upload throughput at 100 Mbit/s without load is stable under every AQM",
    "Figure 7",
    "r07_stable_upload_at_100_mbit.py",
    by=("rate", "queue", "burst", "cross"),
    where={**IN_LAN, "rate": "100Mbit", "burst": "off", "cross": "no", "direction": "up"},
    measures=(VARIATION,),
    marks=(Mark(f"stable is at most {percent(STABLE_VARIATION)}", most=STABLE_VARIATION),),
    under="100 Mbit/s, no burst shaping, no cross traffic, upload",
)
