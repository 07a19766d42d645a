from dataclasses import replace

from narrows.judging.parts import Judge, Mark, Numbers, percent, plain_of
from narrows.studies.operator.claims.measures import FILLED

MAX_SHARE = 0.8  # "never more than 80 %"
FULL = 0.9  # parallel connections fill the link
BEST = replace(FILLED, name="share of the best run", where={"connections": "1"}, take=plain_of("max"))


def by_value(found: Numbers) -> Numbers:
    """The least first."""
    return sorted(found, key=lambda each: each.value)


judge = Judge(
    "C1",
    "One TCP connection does not fill the link (never above 80 % in their test, even at 10 Mbit/s); parallel "
    "connections do",
    "slide 5",
    "c1_one_connection.py",
    by=("base_rtt", "queue", "loss", "cca", "connections"),
    measures=(FILLED, BEST),
    hidden=(BEST.name,),
    shows=by_value,
    whole=("base_rtt", "queue", "loss", "cca"),
    marks=(
        Mark(
            f"one connection stays at or under {percent(MAX_SHARE)}", BEST.name, most=MAX_SHARE,
        ),
        Mark(f"eight connections reach {percent(FULL)}", FILLED.name, FULL, where={"connections": "8"}),
    ),
    under="ramp of 3 s left out, 10 s measured, 10 Mbit/s",
)  # fmt: skip
