"""What a sender's capture says of how its transfers fared: the same of a capture that was given and of one of
a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from narrows.whatif.fit import Transfer
from narrows.whatif.tables import Floats, Pair

Spans = Sequence[tuple[float, float]]
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
    METRICS, NaN where a stack does not say it."""

    goodput_bps: float
    completions_s: tuple[float, ...]
    """Of each transfer, in the order of their starts."""
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

    @property
    def completion_s(self) -> float:
        """The mean over transfers."""
        return float(np.mean(self.completions_s))

    def get(self, metric: str) -> float | None:
        """One of METRICS, or `completion_s N` of the N-th transfer from 1 on; None where it is not known."""
        name, _, number = metric.partition(" ")
        if not number:
            value: float | None = getattr(self, name)
            return None if value is None or np.isnan(value) else value
        return self.completions_s[int(number) - 1] if int(number) <= len(self.completions_s) else None


def measure(pair: Pair, spans: Spans | None = None) -> Measured:
    """How the transfers of one pair fared: each from when to when, in seconds; without `spans` a connection
    is a transfer."""
    if spans is None:
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
        completions_s=tuple(end - start for start, end in spans),
        first_megabyte_s=float(pair.t[np.searchsorted(total, MEGABYTE)]) if total[-1] >= MEGABYTE else None,
        rtt_p50_s=float(levels[LEVELS.index(50)]),
        rtt_p95_s=float(levels[LEVELS.index(95)]),
        loss=again / max(segments, 1),
        segments=segments,
        seconds=np.bincount(second, weights=pair.acked * 8, minlength=width).astype(np.float64),
        delays=delays,
        levels=levels,
    )


def measure_quic(run: Path, transfers: Sequence[Transfer]) -> Measured:
    """How the transfers of a run fared that were made by a QUIC stack, by what its ends say; its RTTs, each
    10 ms, are of its qlog."""
    rows = pl.read_parquet(run / "metrics.parquet", glob=False)

    def of(name: str) -> dict[str, float]:
        mine = rows.filter(pl.col("quantity").cast(pl.String) == name)
        return dict(zip(mine["item"].cast(pl.String), mine["value"], strict=True))

    rates, sent, lost = of("quic_goodput_bps"), of("quic_sent_packets"), of("quic_lost_packets")
    taken = [8 * piece.bytes / rates[f"flow_{n}"] for n, piece in enumerate(transfers)]
    spans = [(piece.start_s, piece.start_s + each) for piece, each in zip(transfers, taken, strict=True)]
    samples = pl.read_parquet(run / "samples.parquet", glob=False)
    rtt = samples.filter(pl.col("quantity").cast(pl.String) == "tcp_info.rtt")["value"].to_numpy() / 1e6
    levels = np.percentile(rtt, LEVELS) if len(rtt) else np.full(len(LEVELS), np.nan)
    return Measured(
        goodput_bps=sum(piece.bytes for piece in transfers) * 8 / _covered(spans),
        completions_s=tuple(taken),
        first_megabyte_s=None,
        rtt_p50_s=float(levels[LEVELS.index(50)]),
        rtt_p95_s=float(levels[LEVELS.index(95)]),
        loss=sum(lost.values()) / max(sum(sent.values()), 1) if lost else float("nan"),
        segments=int(sum(sent.values())),
        seconds=np.array([]),
        delays=np.array([]),
        levels=levels,
    )


def _covered(spans: Spans) -> float:
    """How long at least one of the spans lasts, in seconds."""
    covered, until = 0.0, 0.0
    for start, end in sorted(spans):
        covered += max(end - max(start, until), 0.0)
        until = max(until, end)
    return max(covered, 1e-9)
