from narrows.judging.parts import Mark, percent
from narrows.studies.last_hop.claims.measures import READING, LastHop

OFF = 0.1
judge = LastHop(
    "B1",
    "What a speed test calls the speed is what the last hop carries, whatever it is",
    "What a reader of a result takes for granted",
    "b1_tests.py",
    by=("tool", "medium", "place"),
    measures=(READING,),
    marks=(Mark(f"readings within {percent(OFF)}", least=1 - OFF, most=1 + OFF),),
    decided_by={"tool": "ndt7"},
)
