from narrows.judging.parts import Mark, percent
from narrows.studies.last_hop.claims.measures import DELAYS, MEDIUM, MET_P50, SHOWN, LastHop

OFF = 0.25
judge = LastHop(
    "B2",
    "The latency under load that a speed test shows is what somebody else at home meets",
    "What a reader of a result takes for granted; draft-ietf-ippm-responsiveness, section 1",
    "b1_tests.py",
    by=("tool", "medium", "place"),
    where={"tool": tuple(DELAYS), **MEDIUM},
    measures=(SHOWN, MET_P50),
    marks=(Mark(f"latencies within {percent(OFF)}", least=1 - OFF, most=1 + OFF),),
    decided_by={"tool": "ndt7"},
)
