"""Single numbers of what the tap saw at each place of a run, over time: for verdicts and shards.

"Of" is a place and a direction, `isp up`. What is about a load is of the first item that loads the link, less
the first `LOADED_AFTER_S` seconds of it. None: the tap kept no series of it, or nothing loaded the link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from narrows.metrics.statistics.arrays import clean
from narrows.runs.observed import Observed, QueueTruth, is_background, is_probe
from narrows.units import NS_PER_S

LOADED_AFTER_S = 3.0
DRAIN_S = (9.5, 11.5)
"""After the load began: BBR empties the queue every ten seconds."""
NEAR_PEAK = 0.9
AT_CHANGE_S = 0.02
"""A queue that is emptied is empty at once; what an AQM drops comes one by one, and later."""


def place(hop: str, direction: str) -> str:
    """What a number of a place is "of"."""
    return f"{hop} {direction}"


def places(run: Observed) -> Iterator[str]:
    """All places of a run, each way."""
    for hop, ways in run.places.items():
        yield from (place(hop, way) for way in ways)


def _truth(run: Observed, of: str) -> QueueTruth | None:
    hop, _, way = of.partition(" ")
    return run.places.get(hop, {}).get(way)


def load_ns(run: Observed) -> tuple[int, int] | None:
    """From when to when the first item that loads the link ran."""
    items = run.manifest.get("items") or {}
    for item in run.plan.traffic:
        known = items.get(item.id) or {}
        known_times = None not in map(known.get, ("start_ns", "end_ns"))
        if known_times and not is_probe(item) and not is_background(item):
            return int(known["start_ns"]), int(known["end_ns"])
    return None


def standing(share: float) -> Callable[[Observed, str], float | None]:
    """A quantile of the median sojourn of each 10 ms under load, in ms."""

    def work_out(run: Observed, of: str) -> float | None:
        truth, load = _truth(run, of), load_ns(run)
        if truth is None or load is None:
            return None
        window = int(load[0] + LOADED_AFTER_S * NS_PER_S), load[1]
        known = clean(truth.sojourn_p50_ms.within(window).value)
        return float(np.quantile(known, share)) if known.size else None

    return work_out


def drained(run: Observed, of: str) -> float | None:
    """The least median sojourn of 10 ms about ten seconds after the load began, in ms."""
    truth, load = _truth(run, of), load_ns(run)
    if truth is None or load is None:
        return None
    window = int(load[0] + DRAIN_S[0] * NS_PER_S), int(load[0] + DRAIN_S[1] * NS_PER_S)
    known = clean(truth.sojourn_p50_ms.within(window).value)
    return float(known.min()) if known.size else None


def dropped_near_peak(run: Observed, of: str) -> float | None:
    """The share of the drops under load that came while packets stood at least `NEAR_PEAK` times as long as
    they ever did; None without drops."""
    truth, load = _truth(run, of), load_ns(run)
    if truth is None or load is None:
        return None
    window = int(load[0] + LOADED_AFTER_S * NS_PER_S), load[1]
    drops, stood = truth.drops.within(window), truth.sojourn_p50_ms.within(window)
    total = float(np.nansum(drops.value))
    if not total or not stood.t_ns.size:
        return None
    at = np.minimum(np.searchsorted(stood.t_ns, drops.t_ns), stood.t_ns.size - 1)
    near = stood.value[at] >= NEAR_PEAK * np.nanmax(stood.value)
    return float(np.nansum(drops.value[near])) / total


def largest_10ms(run: Observed, of: str) -> float | None:
    """The most that left in 10 ms, in bit/s."""
    truth = _truth(run, of)
    if truth is None or "" not in truth.throughput_bps:
        return None
    known = clean(truth.throughput_bps[""].value)
    return float(known.max()) if known.size else None


def dropped_at_changes(run: Observed, of: str) -> float | None:
    """Packets dropped within `AT_CHANGE_S` after the link was changed; None where it never is."""
    truth = _truth(run, of)
    if truth is None or not truth.drops.t_ns.size:
        return None
    way = run.link.down if of.endswith(" down") else run.link.up
    if not way.changes:
        return None
    after = int(AT_CHANGE_S * NS_PER_S)
    windows = [(change.at_ns, change.at_ns + after) for change in way.changes]
    return float(sum(np.nansum(truth.drops.within(window).value) for window in windows))
