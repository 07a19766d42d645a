from narrows.judging.parts import Mark, Measure
from narrows.studies.local_bottleneck.claims.measures import LOCAL, REMOTE, AtHome, base_ms, icmp_ms, on

HIGH_MS = 100.0
NEAR_MS = 10.0  # CoDel's target and a few frames of 0.4 ms
SWING = 1.2  # a curve and not a constant: highest over lowest
LOW, MIDDLE, HIGH = (Measure(f"ICMP RTT p{part}", "ms", icmp_ms(part)) for part in (5, 50, 95))
BASE = Measure("base RTT", "ms", base_ms)
judge = AtHome(
    "L3",
    "Remote FIFO with CUBIC: ICMP follows the cubic curve above 100 ms; local CoDel keeps the minimum",
    "Fig. 6",
    "l03_cubic_curve.py",
    by=("cca", "home"),
    where=on("down", cca="cubic"),
    measures=(LOW, MIDDLE, HIGH, BASE),
    hidden=(BASE.name,),
    whole=(),
    marks=(
        Mark(f"remote p95 above {HIGH_MS:g} ms", HIGH.name, HIGH_MS, strict=True, where=REMOTE),
        Mark(
            f"remote p95 more than {SWING:g} times p5", HIGH.name, SWING, strict=True, where=REMOTE,
            than=LOW.name,
        ),
        Mark(
            f"local p95 within {NEAR_MS:g} ms of the base RTT", HIGH.name, most=NEAR_MS, apart=True,
            where=LOCAL, than=BASE.name,
        ),
    ),
    under="FTTC 30/10",
)  # fmt: skip
