"""Turns the packets of the tap into rows of the table `queue`, losslessly.

A packet of the tap becomes an `arrive` row and, if it left, a `depart` or `drop` row, with a `mark` row
before a departure that carries a new CE. Large taps are written in slices of time so that memory stays
bounded.
"""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from narrows.plan.model import Hop
from narrows.store import parquet, reasons, schema, tap

SLICE_PACKETS = 4_000_000
_ARRIVE, _MARK, _DEPART, _DROP = range(4)  # order of schema.EVENT


def arrival_ns(packets: NDArray[Any], epoch_ns: int) -> NDArray[np.int64]:
    """Arrival in run time."""
    result: NDArray[np.int64] = packets["arrival_ns"].astype(np.int64) - epoch_ns
    return result


def leaving_ns(packets: NDArray[Any], epoch_ns: int) -> NDArray[np.int64]:
    """Departure or drop in run time (still queued: the time of the flush)."""
    result: NDArray[np.int64] = arrival_ns(packets, epoch_ns) + packets["sojourn_ns"].astype(np.int64)
    return result


def write(path: Path, run_id: str, hops: tuple[Hop, ...], packets: NDArray[Any], epoch_ns: int) -> int:
    """Write the queue table of the hops whose mode is `packets` or `drops`; returns the number of rows."""
    kept = np.isin(packets["hop"], [i for i, hop in enumerate(hops) if hop.tap in ("packets", "drops")])
    chosen = tap.select(packets, kept)
    if chosen.size <= SLICE_PACKETS:
        frame = rows(run_id, hops, chosen, chosen, epoch_ns)
        schema.write(frame, path)
        return frame.height
    arrive, leave = arrival_ns(chosen, epoch_ns), leaving_ns(chosen, epoch_ns)
    slices = -(-chosen.size // SLICE_PACKETS)
    inner = np.quantile(leave, np.linspace(0, 1, slices + 1)[1:-1], method="lower")
    edges = [np.iinfo(np.int64).min, *np.unique(inner).tolist(), np.iinfo(np.int64).max]
    parts, height = [], 0
    for number, (start, end) in enumerate(itertools.pairwise(edges)):
        part = path.with_name(f".{path.stem}-{number:05}.parquet")
        frame = rows(
            run_id,
            hops,
            chosen[(arrive >= start) & (arrive < end)],
            chosen[(leave >= start) & (leave < end)],
            epoch_ns,
        )
        schema.write(frame, part)
        height += frame.height
        parts.append(part)
    parquet.scan(parts).sink_parquet(path, compression="zstd", compression_level=3)
    for part in parts:
        part.unlink()
    return height


def rows(
    run_id: str, hops: tuple[Hop, ...], arriving: NDArray[Any], leaving: NDArray[Any], epoch_ns: int
) -> pl.DataFrame:
    """Events of packets that arrive and of packets that leave, in order of time.

    At one instant arrivals stand before departures, each in the order of the tap.
    """
    left = leaving[leaving["outcome"] != tap.QUEUED]
    marked, drops = left[tap.marked(left)], left["outcome"] == tap.DROPPED
    groups = (
        (arriving, np.full(arriving.size, _ARRIVE, np.uint8), arrival_ns(arriving, epoch_ns), True),
        (marked, np.full(marked.size, _MARK, np.uint8), leaving_ns(marked, epoch_ns), False),
        (left, np.where(drops, _DROP, _DEPART).astype(np.uint8), leaving_ns(left, epoch_ns), False),
    )
    t_ns = np.concatenate([t for _, _, t, _ in groups])
    order = np.argsort(t_ns, kind="stable")

    def column(before: str, after: str) -> NDArray[Any]:
        parts = [part[before if is_arrival else after] for part, _, _, is_arrival in groups]
        return np.concatenate(parts)[order]

    events = np.concatenate([event for _, event, _, _ in groups])[order]
    hop = column("hop", "hop")
    reason = np.where(events == _DROP, column("reason", "reason"), 0)
    names = {int(code): reasons.name(int(code)) for code in np.unique(reason)}
    frame = pl.DataFrame(
        {
            "hop_number": hop,
            "t_ns": t_ns[order],
            "event_number": events,
            "flow": column("flow", "flow"),
            "bytes": column("bytes", "bytes"),
            "backlog_bytes": column("backlog_bytes", "backlog_bytes_after"),
            "backlog_packets": column("backlog_packets", "backlog_packets_after"),
            "sojourn_ns": column("sojourn_ns", "sojourn_ns").astype(np.int64),
            "reason_number": reason,
        }
    )
    hop_names = {i: h.hop for i, h in enumerate(hops)}
    hop_directions = {i: h.direction for i, h in enumerate(hops)}
    event_names = dict(enumerate(schema.EVENT.categories.to_list()))
    frame = frame.select(
        pl.col("hop_number").replace_strict(hop_names, return_dtype=pl.String).alias("hop"),
        pl.col("hop_number").replace_strict(hop_directions, return_dtype=pl.String).alias("direction"),
        "t_ns",
        pl.col("event_number").replace_strict(event_names, return_dtype=pl.String).alias("event"),
        pl.when(pl.col("flow") == tap.UNKNOWN_FLOW).then(None).otherwise(pl.col("flow")).alias("flow"),
        "bytes",
        "backlog_bytes",
        "backlog_packets",
        pl.when(pl.col("event_number") == _ARRIVE)
        .then(None)
        .otherwise(pl.col("sojourn_ns"))
        .alias("sojourn_ns"),
        pl.col("reason_number").replace_strict(names, return_dtype=pl.String, default=None).alias("reason")
        if names
        else pl.lit(None, dtype=pl.String).alias("reason"),
    )
    return schema.conform(frame, "queue", {"run_id": run_id})
