from collections.abc import Iterator, Sequence

from narrows.judging.parts import Item, Mark, Measure, Number, Numbers, all_of, grouped, one, percent
from narrows.runs.loaded import IDLE
from narrows.runs.observed import DIRECTIONS, Observed
from narrows.studies.aqm.claims.evidence import RATE, Paper, pooled, value, ways

MAX_SHIFT_ERROR_MS = 0.5  # idle latency minus (idle latency at the smallest base RTT + added)
MAX_THROUGHPUT_CHANGE = 0.05  # of the throughput at the smallest base RTT
MAX_WORKING_LATENCY_CHANGE_MS = 1  # of the probe's latency under load minus idle
TOLD = 18
BASE = Measure("base RTT", "ms", lambda way: way.run.link.base_rtt_ns / 1e6)
IDLE_RTT = Measure(
    "idle RTT of the probe", "ms", lambda way: way.tail("probe_rtt_ms"), {"direction": IDLE}, take=pooled(0.5)
)
ADDED = Measure("latency under load", "ms", value("probe_working_latency_ms"))
SHIFT, CHANGE = "idle RTT of the probe beyond base + added", "change of throughput"
WORKING, MOVED = "working latency", "change of the working latency"


def against_the_smallest(found: Numbers) -> Iterator[Number]:
    """Each base RTT against the smallest, under otherwise equal conditions."""
    least: dict[frozenset[tuple[str, str]], Number] = {}
    for rtt in sorted(all_of(found, BASE.name), key=lambda each: each.value):
        here = rtt.conditions
        rest = frozenset((axis, label) for axis, label in here.items() if axis != "base_rtt")
        first = least.setdefault(rest, rtt)
        if first is rtt:
            continue
        pairs = {
            of.name: (one(found, of.name, **here), one(found, of.name, **first.conditions))
            for of in (IDLE_RTT, RATE, ADDED)
        }
        now, before = pairs[IDLE_RTT.name]
        if now is not None and before is not None:
            yield Number(SHIFT, "ms", now.value - before.value - (rtt.value - first.value), now.n, here)
        now, before = pairs[RATE.name]
        if now is not None and before is not None:
            yield Number(CHANGE, "%", 100 * (now.value / before.value - 1), now.n, here)
            late, early = pairs[ADDED.name]
            if late is not None and early is not None:
                yield Number(WORKING, "ms", late.value, late.n, here, late.low, late.high)
                yield Number(MOVED, "ms", late.value - early.value, late.n, here)


def of_several_rtts(runs: Sequence[Observed]) -> list[Item]:
    """What was tried at more than one base RTT."""
    items = [item for item in ways(runs, (*DIRECTIONS, IDLE)) if item.key["timers"] == "exact"]
    groups = [own for _, own in grouped(items, ("rate", "queue", "burst", "cross"))]
    return [item for own in groups if len({one.key["base_rtt"] for one in own}) > 1 for item in own]


def telling(found: Numbers) -> Numbers:
    """The largest of each kind first."""
    return sorted(found, key=lambda each: (each.name, -abs(each.value)))[:TOLD]


judge = Paper(
    "R10",
    "Added base latency shifts latency by a constant and leaves throughput and relative latency under load "
    "alone",
    "section 3",
    "r10_base_latency_is_an_offset.py",
    by=("rate", "queue", "burst", "cross", "base_rtt", "direction"),
    items=of_several_rtts,
    measures=(BASE, IDLE_RTT, RATE, ADDED),
    derive=against_the_smallest,
    hidden=(BASE.name, IDLE_RTT.name, RATE.name, ADDED.name, MOVED),
    shows=telling,
    marks=(
        Mark("idle latency shifts by the added amount", SHIFT, most=MAX_SHIFT_ERROR_MS, size=True),
        Mark(
            f"throughput stays within {percent(MAX_THROUGHPUT_CHANGE)}", CHANGE,
            most=100 * MAX_THROUGHPUT_CHANGE, size=True,
        ),
        Mark(
            f"working latency within {MAX_WORKING_LATENCY_CHANGE_MS} ms", MOVED,
            most=MAX_WORKING_LATENCY_CHANGE_MS, size=True,
        ),
    ),
    under="conditions that differ in base RTT only",
)  # fmt: skip
