"""What loaded a run's link, direction by direction, and what was seen while it did.

An item loads a direction if it sent data there (`narrows.runs.items`); a probe loads nothing. The time in
which a direction was loaded is that of the item under test, where there is one, else the time that all of its
loaders shared, else from the first to the last. No file is read here.
"""

from collections.abc import Sequence

import numpy as np

from narrows.metrics.latency.glitches import Glitches, glitches
from narrows.metrics.statistics.arrays import Floats
from narrows.runs.capacity import payload_share, rate_steps
from narrows.runs.items import Item, items
from narrows.runs.observed import DIRECTIONS, EMPTY, Observed, Series, Window
from narrows.tools.reading import IP_OF_1250, layer_of

IDLE = "idle"
"""The phase before anything loads the link; the others are the directions."""


def loaders(run: Observed, way: str) -> tuple[Item, ...]:
    """The items that load a direction, in the order of the plan."""
    return tuple(item for item in items(run) if not item.is_probe and way in item.ways)


def ways(run: Observed) -> tuple[str, ...]:
    """The directions that something loads."""
    return tuple(way for way in DIRECTIONS if loaders(run, way))


def names(runs: Sequence[Observed]) -> str:
    """What loaded the link in some runs, as a caption names it."""
    found = dict.fromkeys(item.name for run in runs for way in DIRECTIONS for item in loaders(run, way))
    return " or ".join(found) or "anything"


def reads(run: Observed, way: str) -> Item | None:
    """The item whose reading of the throughput is told of a direction: the one under test, else the first.
    Many flows of a Dumbbell have numbers of their own."""
    if run.link.pairs:
        return None
    own = [item for item in loaders(run, way) if item.ways[way].goodput_bps is not None]
    return next((item for item in own if item.name == run.tested), own[0] if own else None)


def goodput_bps(run: Observed, way: str) -> float | None:
    """What that item reads, in bit/s at its own layer."""
    item = reads(run, way)
    return None if item is None else item.ways[way].goodput_bps


def window(run: Observed, way: str) -> Window | None:
    """When a direction was loaded, in ns; None where nothing loads it or that is not known."""
    known = {item.name: span for item in loaders(run, way) if (span := item.ways[way].window) is not None}
    if run.tested in known:
        return known[run.tested]
    if not known:
        return None
    shared = max(start for start, _ in known.values()), min(end for _, end in known.values())
    whole = min(start for start, _ in known.values()), max(end for _, end in known.values())
    return shared if shared[0] < shared[1] else whole


def used(run: Observed, way: str) -> float | None:
    """What that item reads, as a share of what full packets could have had while the direction was loaded, at
    the layer that it counts; None where either is not known."""
    item = reads(run, way)
    rate = None if item is None else item.ways[way].goodput_bps
    if item is None or rate is None or run.divided_bps(way) is None:
        return None
    layer = layer_of(item.ways[way].layer, {end.protocol for end in item.endpoints})
    if layer == IP_OF_1250 and len({bps for _, bps in rate_steps(run.plan, way)}) > 1:
        return None  # it is of the best second or of a full queue: of a rate that moves, of that time alone
    return rate * payload_share(run.plan, way, layer) / run.possible_bps(way, window(run, way))


def throughput_bps(run: Observed, way: str) -> Series:
    """What the bottleneck's tap saw leave in 10 ms bins while the direction was loaded: of the item that is
    read, else of all traffic."""
    truth, item = run.queues.get(way), reads(run, way)
    if truth is None or item is None:
        return EMPTY
    # A tool of several items has no bins under its own name.
    whole = next((each for each in run.plan.composites if each.id == item.name), None)
    part = None if whole is None else {str(each): one for each, one in whole.in_turn.items()}.get(way)
    own = (item.name,) if item.name == run.tested else (item.name, *([part] if part else []), "")
    found = next((truth.throughput_bps[name] for name in own if name in truth.throughput_bps), EMPTY)
    return found.within(window(run, way))


def probe_rtts_ms(run: Observed, phase: str) -> Floats:
    """Round-trip times of the first probe in a phase, in order of sending, without lost ones; empty where not
    measured."""
    rtt = _of_probe(run, phase)
    received: Floats = rtt[~np.isnan(rtt)]
    return received


def probe_glitches(run: Observed, way: str, *, lost_counts: bool = True) -> Glitches | None:
    """Glitches of the first probe while a direction was loaded; None without a probe or a load, or where lost
    probes count and some were still on their way when the run ended, so that which were lost is not known."""
    probe = run.probe()
    if probe is None or window(run, way) is None:
        return None
    if lost_counts and run.figure("probe_unanswered", None, probe.whose) is not None:
        return None
    return glitches(_of_probe(run, way), probe.interval_ms, lost_counts=lost_counts)


def _of_probe(run: Observed, phase: str) -> Floats:
    probe = run.probe()
    span = run.idle if phase == IDLE else window(run, phase)
    return EMPTY.value if probe is None or span is None else probe.rtt_ms.within(span).value
