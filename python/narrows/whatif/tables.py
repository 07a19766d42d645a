"""What is read of one capture: the rows of `narrows paths` of the busiest pair of hosts, joined over its
connections.

A capture answers where it was taken at the sender; elsewhere the delay before it is unknown, and it is
refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from narrows.errors import StoreError
from narrows.units import NS_PER_S

Read = Callable[[Sequence[Path], Path], tuple[pl.DataFrame, pl.DataFrame]]
"""Reads captures into a directory; gives the tables `connections` and `acks` of docs/paths-columns.md."""
Floats = NDArray[np.float64]
LEAST_BYTES = 100_000
LEAST_SAMPLES = 30


@dataclass(frozen=True)
class Pair:
    """One sender and one receiver of a capture. Times in seconds from its first packet, RTTs in seconds."""

    log: str
    sender: str
    receiver: str
    connections: tuple[dict[str, Any], ...]
    """Those with payload, by their start."""
    share: float
    """Of the capture's payload."""
    t: Floats
    """When each ACK of any of them came."""
    of: NDArray[np.int64]
    """The connection of each, as an index."""
    acked: Floats
    rtt: Floats
    """NaN where it is ambiguous."""
    outstanding: Floats
    sacked: NDArray[np.bool_]

    @property
    def mss(self) -> float:
        """The largest segment, bytes of payload."""
        return max(float(row["mss_bytes"] or 1448) for row in self.connections)


def pair_of(log: Path, connections: pl.DataFrame, acks: pl.DataFrame) -> Pair:
    """The pair of hosts with most payload in `log`. Raises StoreError with the reason where it answers
    nothing."""
    rows = connections.filter(pl.col("log") == str(log.resolve())).sort("start_ns").to_dicts()
    other = {"client": "server", "server": "client"}
    with_data = [row for row in rows if row["payload_bytes"] and row["sender"]]
    rows = [row | {"receiver": str(row[other[row["sender"]]])} for row in with_data]
    if not rows:
        raise StoreError(
            "no TCP connection with data in it",
            where=str(log),
            remedy="QUIC's packets are closed: narrows paths FILE --keys KEYS says what can be said of them",
        )
    sums: dict[tuple[str, str], int] = {}
    for row in rows:
        ends = (row[row["sender"]], row["receiver"])
        sums[ends] = sums.get(ends, 0) + row["payload_bytes"]
    (sender, receiver), payload = max(sums.items(), key=lambda item: item[1])
    chosen = [row for row in rows if (row[row["sender"]], row["receiver"]) == (sender, receiver)]
    largest = max(chosen, key=lambda row: row["payload_bytes"])
    if largest["vantage"] != "sender":
        raise StoreError(
            f"captured at the {largest['vantage']} end" if largest["vantage"] == "receiver"
            else f"captured at {largest['vantage'] or 'an unknown place'}, not at the sender",
            where=str(log),
            remedy="capture where the data is sent: what the sender had outstanding is not in this file",
        )  # fmt: skip
    if payload < LEAST_BYTES or (largest["rtt_samples"] or 0) < LEAST_SAMPLES:
        raise StoreError(
            f"no flow is long enough: {payload} bytes of payload in all between {sender} and {receiver}",
            where=str(log),
            remedy=f"at least {LEAST_BYTES} bytes and {LEAST_SAMPLES} RTT samples, better ten seconds",
        )
    origin = chosen[0]["start_ns"]
    place = {row["connection"]: n for n, row in enumerate(chosen)}
    mine = acks.filter((pl.col("log") == str(log.resolve())) & pl.col("connection").is_in(list(place))).sort(
        "t_ns"
    )
    return Pair(
        log=str(log),
        sender=sender,
        receiver=receiver,
        connections=tuple(chosen),
        share=payload / sum(sums.values()),
        t=(mine["t_ns"].to_numpy() - origin) / NS_PER_S,
        of=np.array([place[each] for each in mine["connection"].to_list()], dtype=np.int64),
        acked=mine["acked_bytes"].to_numpy().astype(float),
        rtt=mine["rtt_ns"].cast(pl.Float64).fill_null(float("nan")).to_numpy() / NS_PER_S,
        outstanding=mine["outstanding_bytes"].to_numpy().astype(float),
        sacked=mine["has_sack"].to_numpy().astype(bool),
    )
