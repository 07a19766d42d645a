"""Single numbers of what the tap saw at each place of a run, over time: for verdicts and shards.

"Of" is a place and a direction, `isp up`. What is about a load is of the first item that loads the link, less
the first `LOADED_AFTER_S` seconds of it. None: the tap kept no series of it, or nothing loaded the link.
"""

from collections.abc import Callable, Iterator

import numpy as np

from narrows.metrics.statistics.arrays import clean
from narrows.runs.observed import Observed, QueueTruth, is_background, is_probe
from narrows.units import NS_PER_MS, NS_PER_S

LOADED_AFTER_S = 3.0
DRAIN_S = (9.5, 11.5)
"""After the load began: BBR empties the queue every ten seconds."""
NEAR_PEAK = 0.9
FILLED = 0.9
"""A part of the rate: the headers that a tap does not count are below the rest."""
FILLED_BINS = 10
"""The part of 10 ms of which a link is filled on average."""
PAUSED_S = 0.5
"""Without data for so long a load was paused; what is below `SOME` of the rate is no data."""
SOME = 0.01
AFTER_PAUSE_S = 1.0
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


def dropped_at_start(run: Observed, of: str) -> float | None:
    """Packets dropped in the first `LOADED_AFTER_S` seconds of the load: how far slow start went too far."""
    truth, load = _truth(run, of), load_ns(run)
    if truth is None or load is None or not truth.drops.t_ns.size:
        return None
    window = load[0], int(load[0] + LOADED_AFTER_S * NS_PER_S)
    return float(np.nansum(truth.drops.within(window).value))


def refilled(run: Observed, of: str) -> float | None:
    """From the last change of the rate until the first tenth of a second that had `FILLED` of it, in ms; None
    where none had, or where the rate never changes."""
    way = run.link.down if of.endswith(" down") else run.link.up
    last = way.changes[-1] if way.changes else None
    if last is None or last.rate_bps is None:
        return None
    return _filled_after(run, of, last.at_ns, last.rate_bps)


def _filled_after(run: Observed, of: str, since_ns: int, rate_bps: float) -> float | None:
    """Until the first tenth of a second that had `FILLED` of a rate, in ms."""
    truth, load = _truth(run, of), load_ns(run)
    if truth is None or load is None or "" not in truth.throughput_bps:
        return None
    left = truth.throughput_bps[""].within((since_ns, load[1]))
    if left.t_ns.size < FILLED_BINS:
        return None
    mean = np.convolve(np.nan_to_num(left.value), np.full(FILLED_BINS, 1 / FILLED_BINS), "valid")
    full = np.flatnonzero(mean >= FILLED * rate_bps)
    return None if not full.size else float(left.t_ns[full[0]] - since_ns) / NS_PER_MS


def _resumed_ns(run: Observed, of: str) -> int | None:
    """When the load's data came again after its first pause; None without one."""
    truth, load, rate_bps = _truth(run, of), load_ns(run), run.configured_bps(of.split()[-1])
    if truth is None or load is None or not rate_bps or "" not in truth.throughput_bps:
        return None
    left = truth.throughput_bps[""].within(load)
    t_ns = left.t_ns[np.nan_to_num(left.value) >= SOME * rate_bps]
    after = np.flatnonzero(np.diff(t_ns) >= PAUSED_S * NS_PER_S)
    return None if not after.size else int(t_ns[after[0] + 1])


def dropped_after_pause(run: Observed, of: str) -> float | None:
    """Packets dropped in the first `AFTER_PAUSE_S` seconds after the load's first pause."""
    truth, resumed = _truth(run, of), _resumed_ns(run, of)
    if truth is None or resumed is None:
        return None
    window = resumed, int(resumed + AFTER_PAUSE_S * NS_PER_S)
    return float(np.nansum(truth.drops.within(window).value))


def filled_after_pause(run: Observed, of: str) -> float | None:
    """From the end of the load's first pause until the link is filled, in ms, as `refilled`."""
    resumed, rate_bps = _resumed_ns(run, of), run.configured_bps(of.split()[-1])
    return None if resumed is None or not rate_bps else _filled_after(run, of, resumed, rate_bps)
