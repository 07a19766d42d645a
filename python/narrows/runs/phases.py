"""What each call of a run got in each phase of it: between changes of the link, starts and ends of items.

"Of" is an item and a phase, `media1 phase 2`; phases are counted from 1. A rate is that of the tap,
downstream, in the second half of the phase, so that what came before has settled. None: the item was not
there all that time, its ends were not connected yet, or the tap kept no series.
"""

from collections.abc import Iterator
from itertools import pairwise

from narrows.metrics.statistics.arrays import clean
from narrows.plan.items import AtTime
from narrows.runs.observed import Observed, is_background, is_probe
from narrows.store.whose import of_part
from narrows.units import NS_PER_MS, NS_PER_S

BIN_NS = 10_000_000
SHORTEST_NS = NS_PER_S
"""What is shorter is no phase: items that start together do so within some 10 ms."""
CALL = "call"
Phase = tuple[int, int]


def phases(run: Observed) -> list[Phase]:
    """From when to when, in order."""
    times = {change.at_ns for change in run.link.down.changes}
    for item in run.plan.traffic:
        if is_probe(item) or is_background(item) or getattr(item, "tool", "bulk") not in (CALL, "bulk"):
            continue
        if getattr(item, "bytes", None) is None:
            times |= {each.at_ns for each in (item.start, item.stop) if isinstance(each, AtTime)}
    edges: list[int] = []
    for time in sorted(times):
        if not edges or time - edges[-1] >= SHORTEST_NS:
            edges.append(time)
    return list(pairwise(edges))


def calls(run: Observed) -> list[str]:
    return [item.id for item in run.plan.traffic if getattr(item, "tool", "") == CALL]


def of_calls(run: Observed) -> Iterator[str]:
    """Every call in every phase."""
    if found := calls(run):
        for n, _ in enumerate(phases(run), start=1):
            yield from (of(item, n) for item in found)


def of(item: str, phase: int) -> str:
    """What a number is "of"."""
    return f"{item} phase {phase}"


def rate_bps(run: Observed, name: str) -> float | None:
    """The rate of a call in the second half of a phase."""
    item, _, number = name.partition(" phase ")
    begun, ended = phases(run)[int(number) - 1]
    truth = run.truth("down")
    if truth is None or item not in truth.throughput_bps:
        return None
    known = next(each for each in run.plan.traffic if each.id == item)
    starts = known.start.at_ns if isinstance(known.start, AtTime) else None
    stops = known.stop.at_ns if isinstance(known.stop, AtTime) else None
    if starts is None or stops is None or starts > begun + SHORTEST_NS or stops < ended - SHORTEST_NS:
        return None
    window = ((begun + ended) // 2, ended)
    connected_ms = run.figure("call_connected_ms", None, of_part(known))
    if connected_ms is not None and starts + connected_ms * NS_PER_MS > window[0]:
        return None
    bins = round((window[1] - window[0]) / BIN_NS)
    return float(clean(truth.throughput_bps[item].within(window).value).sum()) / bins if bins else None


def capacity_bps(run: Observed, phase: int) -> float:
    """The link's rate in a phase."""
    begun = phases(run)[phase - 1][0]
    rate = run.rate_bps()
    for change in run.link.down.changes:
        if change.at_ns <= begun + SHORTEST_NS and change.rate_bps is not None:
            rate = float(change.rate_bps)
    return rate
