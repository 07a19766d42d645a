from narrows.judging.parts import Mark, percent
from narrows.studies.local_bottleneck.claims.measures import APART, INDUCED, LOCAL, REMOTE, AtHome, on

EQUAL = 1.2
DIFFERENT = 3.0
CUT = 0.5
judge = AtHome(
    "L6",
    "RRUL best effort: the same trade at 4 and at 64 flows; local shares are equal, remote shares differ "
    "by factors of 3 to 6",
    "Fig. 9, 10",
    "l06_shares.py",
    by=("flows", "cca", "home"),
    where=on("best_effort", flows=("4", "64")),
    measures=(APART, INDUCED),
    whole=("flows", "cca"),
    marks=(
        Mark(f"the latency is cut to {percent(CUT)}", INDUCED.name, most=CUT, where=LOCAL, against=REMOTE),
        Mark(f"local shares within {EQUAL:g}", APART.name, most=EQUAL, where={"flows": "4", **LOCAL}),
        Mark(f"remote {DIFFERENT:g} and more apart", APART.name, DIFFERENT, where={"flows": "4", **REMOTE}),
    ),
    under="FTTC 30/10",
)
