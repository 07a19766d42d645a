from collections.abc import Sequence
from dataclasses import replace

from narrows.headers import FULL_FRAME_BYTES
from narrows.judging.parts import Item, Mark, Numbers, plain_of
from narrows.metrics.rate.utilisation import largest_goodput_bps
from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.evidence import LAN, PAPER_QUEUES, RATE, USE, Paper, ways
from narrows.studies.aqm.claims.htb_model import late_timer_rate_bps

HIGH_RATE_MBPS = 800
MAX_MBPS = 700  # the claim: no run above it
EVERY = {"queue": "all qdiscs"}
HIGHEST = replace(RATE, name="highest throughput", where=EVERY, take=plain_of("max"))
OF_QUEUE = replace(HIGHEST, name="highest throughput of a qdisc", where={"queue": PAPER_QUEUES})


def items(runs: Sequence[Observed]) -> list[Item]:
    """Each direction of each run, by qdisc and of all together."""
    return [*ways(runs, **EVERY), *ways(runs)]


def cause(chosen: Sequence[Item], _: Numbers) -> str:
    """What the model of a late timer gives for the spans of the runs."""
    timers = (item.of.run.plan.machine.timer_latency for item in chosen)
    spans = {(late.min_ns, late.max_ns) for late in timers if late is not None}
    parts = []
    for low, high in sorted(spans):
        rate = late_timer_rate_bps(HIGH_RATE_MBPS * 1e6, 1600, low / 1e9, high / 1e9)
        payload_mbps = rate * largest_goodput_bps(1.0) / 1e6
        parts.append(
            f"The bucket alone, with timers {low / 1e3:g} to {high / 1e3:g} µs late and "
            f"{FULL_FRAME_BYTES}-byte frames, gives at least {payload_mbps:.0f} Mbit/s of payload."
        )
    return " ".join(parts)


judge = Paper(
    "R1",
    "Without burst shaping the link is under-used at high rates whatever the AQM: at 800 Mbit/s the "
    "maximum stays under 700",
    "Figure 1",
    "r01_underuse_without_burst.py",
    by=("rate", "timers", "queue", "direction"),
    items=items,
    where={"rate": f"{HIGH_RATE_MBPS}Mbit", "burst": "off", "cross": "no", "path": LAN},
    measures=(HIGHEST, replace(USE, where=EVERY), OF_QUEUE),
    hidden=(OF_QUEUE.name,),
    marks=(
        Mark(
            f"qdiscs and directions stay under {MAX_MBPS} Mbit/s", OF_QUEUE.name, most=MAX_MBPS, strict=True
        ),
    ),
    under="no burst shaping, no cross traffic",
    cause=cause,
    decided_by={"quantity": HIGHEST.name},
)
