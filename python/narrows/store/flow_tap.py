"""Reads `flow_tap.bin` (docs/formats.md, Flow tap) into arrays: sockets, events, samples, snapshots.

It checks the file's shape and nothing else; `flow_tap_tables` says what the numbers mean together.
"""

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from narrows.errors import StoreError
from narrows.store.tap import flow_label, read_records

RECORD_BYTES = 32
FLOW, EVENT, SAMPLE, SNAPSHOT = 1, 2, 3, 4
SNAPSHOT_PARTS = 5
ESTABLISHED, MARK, CLOSED, FLUSH = 0, 1, 2, 3
WINDOW_STARTS, WINDOW_STOPS = 1, 2
REDUCTION = 1
FLOW_ECN, FLOW_PASSIVE, FLOW_SACK = 1, 2, 4

_HEAD = [("type", "u1"), ("kind", "u1"), ("from", "u1"), ("flags", "u1"), ("flow", "<u4")]
FLOW_DTYPE = np.dtype(
    [*_HEAD, ("sport", "<u2"), ("dport", "<u2"), ("src", "u1", 4), ("dst", "u1", 4), ("cca", "S12")]
)
EVENT_DTYPE = np.dtype(
    [
        *_HEAD, ("t_ns", "<u8"), ("cwnd_before", "<u4"), ("cwnd_after", "<u4"), ("in_flight", "<u4"),
        ("lost", "<u4"),
    ]
)  # fmt: skip
SAMPLE_DTYPE = np.dtype(
    [*_HEAD, ("t_ns", "<u8"), ("bytes_acked", "<u8"), ("srtt_us", "<u4"), ("cwnd", "<u4")]
)
PART_FIELDS: tuple[tuple[tuple[str, str], ...], ...] = (
    (("t_ns", "<u8"), ("bytes_acked", "<u8"), ("bytes_sent", "<u8")),
    (("bytes_retrans", "<u8"), ("delivered", "<u4"), ("delivered_ce", "<u4"), ("lost", "<u4"),
     ("retrans", "<u4")),
    (("segs_out", "<u4"), ("data_segs_out", "<u4"), ("srtt_us", "<u4"), ("min_rtt_us", "<u4"),
     ("cwnd", "<u4"), ("ssthresh", "<u4")),
    (("recoveries", "<u4"), ("timeouts", "<u4"), ("cwrs", "<u4"), ("tlps", "<u4"), ("reductions", "<u4"),
     ("undos", "<u4")),
    (("mss_bytes", "<u4"), ("dsack_dups", "<u4"), ("reord_seen", "<u4"), ("packets_out", "<u4"),
     ("zero", "<u8")),
)  # fmt: skip
PART_DTYPES = tuple(np.dtype([*_HEAD, *fields]) for fields in PART_FIELDS)
SNAPSHOT_DTYPE = np.dtype(
    [("why", "u1"), ("number", "u1"), ("flow", "<u4"), *(field for part in PART_FIELDS for field in part)]
)
assert all(d.itemsize == RECORD_BYTES for d in (FLOW_DTYPE, EVENT_DTYPE, SAMPLE_DTYPE, *PART_DTYPES))


@dataclass(frozen=True)
class WatchedFlow:
    """A watched socket, its own end first."""

    flow: int
    watch: int
    src: str
    sport: int
    dst: str
    dport: int
    cca: str
    ecn: bool
    sack: bool
    passive: bool

    @property
    def label(self) -> str:
        """The same text as `flows.label`."""
        return flow_label("tcp", self.src, self.sport, self.dst, self.dport)


@dataclass(frozen=True)
class FlowTap:
    """All of one `flow_tap.bin`; arrays are in the order of the file, which is that of time."""

    flows: tuple[WatchedFlow, ...]
    events: NDArray[Any]
    samples: NDArray[Any]
    snapshots: NDArray[Any]
    """One entry per snapshot (SNAPSHOT_DTYPE), its parts put together."""


def read(path: Path) -> FlowTap:
    """Read a flow tap's file; an odd shape is an error."""
    records = read_records(path, "flow tap", EVENT_DTYPE, SNAPSHOT + SNAPSHOT_PARTS - 1)
    kinds = records["type"]
    return FlowTap(
        flows=tuple(_flow(record) for record in records[kinds == FLOW].view(FLOW_DTYPE)),
        events=records[kinds == EVENT],
        samples=records[kinds == SAMPLE].view(SAMPLE_DTYPE),
        snapshots=_snapshots(records, path),
    )


def _flow(record: Any) -> WatchedFlow:
    if int(record["from"]) == 4:
        src, dst = (socket.inet_ntop(socket.AF_INET, record[end].tobytes()) for end in ("src", "dst"))
    else:  # only the last four bytes are known
        src, dst = (f"…{record[end].tobytes().hex()}" for end in ("src", "dst"))
    flags = int(record["flags"])
    return WatchedFlow(
        flow=int(record["flow"]),
        watch=int(record["kind"]),
        src=src,
        sport=int(record["sport"]),
        dst=dst,
        dport=int(record["dport"]),
        cca=record["cca"].decode("ascii", "replace"),
        ecn=bool(flags & FLOW_ECN),
        sack=bool(flags & FLOW_SACK),
        passive=bool(flags & FLOW_PASSIVE),
    )


def _snapshots(records: NDArray[Any], path: Path) -> NDArray[Any]:
    """The parts of each snapshot stand one behind the other in the file."""
    first = np.flatnonzero(records["type"] == SNAPSHOT)
    parts = int(np.count_nonzero(records["type"] >= SNAPSHOT))
    whole = np.zeros(first.size, dtype=SNAPSHOT_DTYPE)
    if parts != first.size * SNAPSHOT_PARTS:
        raise StoreError(f"{parts} parts are not {first.size} whole snapshots", where=str(path))
    for number, (dtype, fields) in enumerate(zip(PART_DTYPES, PART_FIELDS, strict=True)):
        part = records[first + number].view(dtype)
        if first.size and (
            np.any(part["type"] != SNAPSHOT + number) or np.any(part["flow"] != records["flow"][first])
        ):
            raise StoreError("the parts of a snapshot do not belong together", where=str(path))
        for name, _ in fields:
            whole[name] = part[name]
    whole["why"], whole["number"] = records["kind"][first], records["from"][first]
    whole["flow"] = records["flow"][first]
    return whole
