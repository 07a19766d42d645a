"""T21: a kernel update changes BBR's outcomes. The kernels that can be had are not the thesis's."""

from collections.abc import Iterator
from itertools import combinations

from narrows.judging.parts import Judge, Mark, Measure, Number, Numbers, Share, all_of, figure, over, percent

MATTERS = 0.05
"""A part of the larger: intervals that are apart by less than this are apart, and nobody would notice."""
GOODPUT = Measure("goodput", "Mbit/s", figure("mine", "bulk_goodput_bps", per=1e6))
WAIT = Measure("wait in the queue, p95", "ms", figure(None, "sojourn_p95_ms", at="bottleneck"))
LOST = Share(
    "share of packets that were dropped",
    read=over(*(figure(None, name, at="bottleneck") for name in ("tap_dropped", "tap_arrived"))),
)
UNNOTICED = {GOODPUT.name: 0.1, WAIT.name: 1.0, LOST.name: 0.001}
"""A difference below which nobody would notice, however few there were."""
COUNT, MOVED = "conditions in which a figure of BBR moved", "pairs of figures that are apart"


def apart(one: Number, other: Number) -> bool | None:
    """Whether the intervals of two medians do not touch, by so much that it matters; None where one has no
    interval, as of fewer than six runs."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return None
    gap = max(one.low - other.high, other.low - one.high)
    least = max(MATTERS * max(abs(one.value), abs(other.value)), UNNOTICED[one.name])
    return gap > 0 and abs(one.value - other.value) > least


def moves(found: Numbers) -> Iterator[Number]:
    """In how many conditions something moved; of each figure of a condition how far, between the two kernels
    where that is most; and of each condition how many pairs are apart."""
    places = dict.fromkeys((each.conditions["load"], each.conditions["queue"]) for each in found)
    told: list[Number] = []
    count: list[bool] = []
    for load, queue in places:
        known: list[bool] = []
        for name in UNNOTICED:
            pairs = list(combinations(all_of(found, name, load=load, queue=queue), 2))
            known += [are for pair in pairs if (are := apart(*pair)) is not None]
            if pairs:
                told.append(_farthest(name, pairs, {"load": load, "queue": queue}))
        if known:
            count.append(any(known))
            told.append(Number(MOVED, "1", float(sum(known)), len(known), {"load": load, "queue": queue}))
    if count:
        yield Number(COUNT, "1", float(sum(count)), len(count))
        yield from told


def _farthest(name: str, pairs: list[tuple[Number, Number]], under: dict[str, str]) -> Number:
    one, other = max(pairs, key=lambda pair: abs(pair[0].value - pair[1].value))
    largest = max(abs(one.value), abs(other.value))
    part = abs(one.value - other.value) / largest if largest else 0.0
    between = " and ".join(each.conditions["kernel"] for each in (one, other))
    return Number(
        f"{name}: moved by", "1", part, min(one.n, other.n), {**under, "between": between}, percent=True
    )


judge = Judge(
    "T21",
    "a kernel update changes BBR's outcomes (Linux 4.15 against 5.15)",
    "section 4.5.3, Fig. 4.9b",
    "t21_kernels.py",
    by=("load", "queue", "kernel"),
    where={"load": ("bbr", "bbr_beside_cubic")},
    measures=(GOODPUT, WAIT, LOST),
    derive=moves,
    hidden=(MOVED,),
    marks=(Mark(f"intervals apart, and medians by more than {percent(MATTERS)}", MOVED, 1),),
    under="20 Mbit/s, 40 ms, 14.5 s; medians of six runs a kernel",
    missing="no condition with six runs on each of two kernels",
    decided_by={"quantity": (COUNT, *(f"{name}: moved by" for name in UNNOTICED))},
)
