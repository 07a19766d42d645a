"""L5: CUBIC's window fills the remote FIFO; BBR's does not, and drains ten seconds after its start in both.

The window is read from what it makes: how long packets stand in the queue that is the bottleneck.
"""

from narrows.judging.parts import Mark, Measure, quantity
from narrows.studies.local_bottleneck.claims.measures import BOTH, AtHome, on

FULL_MS = 0.9 * 400  # 500 KB at 10 Mbit/s are 400 ms
FAR_MS = 0.5 * 400
DRAINED = 0.2  # of its own median
CASES = {("cubic", "remote"): "isp", ("bbr", "remote"): "isp", ("bbr", "local"): "home"}
"""Where the bottleneck's queue is."""
HIGH, MIDDLE, LEAST = "sojourn p95", "sojourn p50", "least sojourn about 10 s after the start"
STOOD = {HIGH: "standing_p95_ms", MIDDLE: "standing_p50_ms", LEAST: "drained_ms"}
judge = AtHome(
    "L5",
    "CUBIC's window grows unbounded in the remote FIFO; BBR's does not, and drains 10 s after start in both",
    "Fig. 8a",
    "l04_bulk_upload.py",
    by=("cca", "home"),
    where=on("up"),
    measures=tuple(
        Measure(name, "ms", quantity(of, f"{place} up"), {"cca": cca, "home": home})
        for (cca, home), place in CASES.items()
        for name, of in STOOD.items()
    ),
    whole=(),
    marks=(
        Mark(f"CUBIC's p95 is {FULL_MS:g} ms and more", HIGH, FULL_MS, where={"cca": "cubic"}),
        Mark(f"BBR's {FAR_MS:g} ms at most", HIGH, most=FAR_MS, where={"cca": "bbr", "home": "remote"}),
        Mark("BBR drains", LEAST, most=DRAINED, than=MIDDLE, where={"cca": "bbr", "home": BOTH}),
    ),
    under="FTTC 30/10, upload",
)
