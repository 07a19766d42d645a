from narrows.judging.parts import Judge, Mark, Measure, over, quantity

NO_BURST = 1.15  # over the rate, in the fullest 10 ms: a packet more is 6 % of them at 20 Mbit/s
PLACE, CAKE = "bottleneck down", {"shaper": "cake"}
BURST = Measure(
    "fullest 10 ms over the rate",
    "1",
    over(quantity("largest_10ms_bps", PLACE), lambda run: run.rate_bps("down")),
)
LOST = Measure("dropped within 20 ms of a change", "packets", quantity("dropped_at_changes", PLACE))
# A token bucket stands beside it.
judge = Judge(
    "L17",
    "CAKE has no initial burst and can be given another rate without losing packets",
    "section III",
    "l17_shaper.py",
    by=("shaper",),
    measures=(BURST, LOST),
    whole=(),
    marks=(
        Mark(f"the fullest 10 ms at most {NO_BURST:g} times the rate", BURST.name, most=NO_BURST, where=CAKE),
        Mark("no packet dropped", LOST.name, most=0, where=CAKE),
    ),
    under="20, 10 and 20 Mbit/s, 30 ms, one CUBIC flow",
)
