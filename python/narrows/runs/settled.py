"""What each service of a run got of the link once all ran, and whether the run counts as a trial.

Rates are of the bottleneck's tap, downstream, as its shaper counts them, in the middle three fifths of the
time that the services ran: the first and the last fifth are left out. Losses and delays are of the whole run.
"""

from narrows.metrics.latency.high_delay_share import LIMIT_MS
from narrows.metrics.statistics.arrays import clean
from narrows.plan.items import AtTime, TrafficItem
from narrows.plan.model import Plan
from narrows.runs.observed import Observed, is_background, is_probe
from narrows.store.whose import of_part
from narrows.tools.video.parse import MOST_FROZEN_MS

LEFT_OUT = 0.2
"""The part of the time that all services ran, at each end."""
RATE = "settled_throughput_bps"
"""The quantity (`narrows.runs.quantities`) that shares are made of."""
LATE = "late_packets_share"
"""The quantity of packets that come later than a call can bear."""
MOST_FRAMES_DROPPED = 0.01


def settled_window(plan: Plan) -> tuple[int, int] | None:
    """When all services ran, without its first and last fifth, in ns; None where that is not known."""
    items = [item for item in plan.traffic if not is_probe(item) and not is_background(item)]
    starts = [item.start.at_ns for item in items if isinstance(item.start, AtTime)]
    stops = [item.stop.at_ns for item in items if isinstance(item.stop, AtTime)]
    if not items or len(starts) < len(items) or len(stops) < len(items):
        return None
    first, last = max(starts), min(stops)
    cut = round(LEFT_OUT * (last - first))
    return (first + cut, last - cut) if last > first else None


def foreground(plan: Plan) -> list[TrafficItem]:
    """The items that are services' own, in the order of their hosts."""
    return [item for item in plan.traffic if not is_probe(item) and not is_background(item)]


def settled_rate(run: Observed, item: str) -> float | None:
    """Mean rate of an item downstream in the settled window, in bit/s at the bottleneck's link layer."""
    truth, window = run.truth("down"), settled_window(run.plan)
    if truth is None or window is None or item not in truth.throughput_bps:
        return None
    known = clean(truth.throughput_bps[item].within(window).value)
    # Bins in which nothing passed may have no row: the mean is over the window, not over the rows.
    bins = round((window[1] - window[0]) / 10_000_000)
    return float(known.sum()) / bins if bins else None


def late_share(run: Observed, item: str) -> float | None:
    """Share of an item's packets downstream whose round trip was above 190 ms: the base RTT and what the tap
    saw them stand in the queue, to within a bucket of its histogram. None of nothing delivered."""
    truth = run.truth("down")
    edges, packets = truth.sojourn_of.get(item, (None, None)) if truth is not None else (None, None)
    if edges is None or packets is None or not packets.sum():
        return None
    late = edges + run.link.base_rtt_ns / 1e6 > LIMIT_MS
    return float(packets[late].sum() / packets.sum())


def faults(run: Observed) -> tuple[str, ...]:
    """What makes a trial invalid: the player could not play or stood still, the processor was short, or a
    process died."""
    found = []
    for item in foreground(run.plan):

        def of(name: str, item: TrafficItem = item) -> float | None:
            return run.figure(name, None, of_part(item))

        frames, dropped = of("video_frames"), of("video_frames_dropped")
        if frames and dropped is not None and dropped > MOST_FRAMES_DROPPED * frames:
            found.append(f"{item.id}: {dropped:.0f} of {frames:.0f} frames were dropped")
        if (frozen := of("video_frozen_ms") or 0.0) > MOST_FROZEN_MS:
            found.append(
                f"{item.id}: the picture stood still for {frozen / 1000:.0f} s with more in the buffer"
            )
        if of("video_top_rung_playable") == 0:
            found.append(f"{item.id}: the browser does not believe that it can play the highest rung")
        if of("browser_processes_gone"):
            found.append(f"{item.id}: processes of the browser died")
        if of("call_cpu_limited_s"):
            found.append(f"{item.id}: the call was limited by the processor")
    return tuple(found)
