"""What a sender's capture says of how its transfers fared: the same of a capture that was given and of one of
a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from narrows.whatif.tables import Floats, Pair

LEVELS = (10, 25, 50, 75, 90, 95)
MEGABYTE = 1_000_000
METRICS = {
    "goodput_bps": "goodput",
    "completion_s": "completion time (mean of transfers)",
    "first_megabyte_s": "time until the first megabyte",
    "rtt_p50_s": "RTT, median",
    "rtt_p95_s": "RTT, 95th percentile",
    "loss": "segments sent again",
    "others_bps": "goodput of the other flows that were fitted",
}


@dataclass(frozen=True)
class Measured:
    """Of one capture. `seconds` is the goodput of each second (bit/s), `delays` the median RTT of each
    (seconds, NaN where none is known), `levels` the RTT's percentiles of LEVELS; the rest by the names of
    METRICS."""

    goodput_bps: float
    completion_s: float
    first_megabyte_s: float | None
    rtt_p50_s: float
    rtt_p95_s: float
    loss: float
    segments: int
    seconds: Floats
    delays: Floats
    levels: Floats
    others_bps: float | None = None
    """Of the other flows together; a capture does not show it."""


def measure(pair: Pair) -> Measured:
    """How the connections of one pair fared. A connection is one transfer: its pauses are counted in."""
    ends = [pair.t[pair.of == n] for n in range(len(pair.connections))]
    origin = pair.connections[0]["start_ns"]
    spans = [
        ((row["start_ns"] - origin) / 1e9, float(mine[-1]))
        for row, mine in zip(pair.connections, ends, strict=True)
        if len(mine)
    ]
    total = np.cumsum(pair.acked)
    width = int(np.ceil(pair.t[-1]))
    second = np.minimum(pair.t.astype(int), width - 1)
    delays = np.full(width, np.nan)
    for n in range(width):
        inside = pair.rtt[second == n]
        if np.isfinite(inside).any():
            delays[n] = np.nanmedian(inside)
    levels = np.nanpercentile(pair.rtt, LEVELS)
    segments = sum(row["data_segments"] or 0 for row in pair.connections)
    again = sum(
        (row["retransmitted_segments"] or 0) - (row["needless_retransmissions"] or 0)
        for row in pair.connections
    )
    return Measured(
        goodput_bps=float(total[-1]) * 8 / _covered(spans),
        completion_s=float(np.mean([end - start for start, end in spans])),
        first_megabyte_s=float(pair.t[np.searchsorted(total, MEGABYTE)]) if total[-1] >= MEGABYTE else None,
        rtt_p50_s=float(levels[LEVELS.index(50)]),
        rtt_p95_s=float(levels[LEVELS.index(95)]),
        loss=again / max(segments, 1),
        segments=segments,
        seconds=np.bincount(second, weights=pair.acked * 8, minlength=width).astype(np.float64),
        delays=delays,
        levels=levels,
    )


def _covered(spans: list[tuple[float, float]]) -> float:
    """How long at least one of the spans lasts, in seconds."""
    covered, until = 0.0, 0.0
    for start, end in sorted(spans):
        covered += max(end - max(start, until), 0.0)
        until = max(until, end)
    return max(covered, 1e-9)
