from narrows.judging.parts import Mark, Measure, Share
from narrows.studies.local_bottleneck.claims.measures import AtHome, by_way, filled, isp_sojourn_ms

KEPT_MS = 10.0
SHARES = ("80%", "90%", "95%", "98%", "99%", "100%")
# The other shares say from where on it is not.
judge = AtHome(
    "L16",
    "5 % below the measured rate is enough",
    "III, swept here",
    "l16_margin.py",
    by=("share", "cca", "way"),
    items=by_way,
    where={"share": SHARES},
    measures=(
        Measure("sojourn at the ISP, p95", "ms", lambda of: isp_sojourn_ms(of[1], 95)(of[0])),
        Share("goodput over what is possible", read=lambda of: filled(of[1])(of[0])),
    ),
    marks=(
        Mark(
            f"the ISP's queue stays within {KEPT_MS:g} ms (p95, both ways)",
            most=KEPT_MS,
            where={"share": "95%"},
        ),
    ),
    together="way",
    under="FTTC 30/10, RRUL best effort, 4 flows each way",
)
