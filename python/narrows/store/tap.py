"""Reads `tap.bin` (docs/formats.md, Tap) into arrays: one entry per packet that left a queue.

It checks the file's shape and nothing else; what the numbers mean together is for `conservation` and `bins`.
"""

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from narrows.errors import StoreError

RECORD_BYTES = 48
FLOW, PACKET, TRAFFIC, LEVELS = 1, 2, 3, 4
DEPARTED, DROPPED, QUEUED = 1, 2, 3
ECN_MASK, CE = 0x3, 0x3
ECN_NAMES = {0: "not_ect", 1: "ect1", 2: "ect0", 3: "ce"}
"""The two ECN bits of an IP header (RFC 3168; ECT(1) is L4S, RFC 9331)."""
UNKNOWN_FLOW = 0xFFFFFFFF
"""Whoever wrote the record saw no header: neither flow nor ECN bits are known (engine `netns`)."""
UNKNOWN_MARKS = 0xFFFFFFFF
"""The same in an interval's record."""

FLOW_DTYPE = np.dtype(
    [
        ("type", "u1"), ("hop", "u1"), ("protocol", "u1"), ("family", "u1"), ("flow", "<u4"),
        ("sport", "<u2"), ("dport", "<u2"), ("src", "u1", 16), ("dst", "u1", 16), ("zero", "<u4"),
    ]
)  # fmt: skip
PACKET_DTYPE = np.dtype(
    [
        ("type", "u1"), ("hop", "u1"), ("bytes", "<u2"), ("flow", "<u4"), ("arrival_ns", "<u8"),
        ("sojourn_ns", "<u8"), ("backlog_bytes", "<u4"), ("backlog_packets", "<u4"),
        ("backlog_bytes_after", "<u4"), ("backlog_packets_after", "<u4"), ("reason", "<u2"),
        ("outcome", "u1"), ("tos_in", "u1"), ("tos_out", "u1"), ("zero", "u1", 3),
    ]
)  # fmt: skip
TRAFFIC_DTYPE = np.dtype(
    [
        ("type", "u1"), ("hop", "u1"), ("zero", "<u2"), ("marked_packets", "<u4"), ("start_ns", "<u8"),
        ("arrived_packets", "<u4"), ("arrived_bytes", "<u4"), ("departed_packets", "<u4"),
        ("departed_bytes", "<u4"), ("dropped_packets", "<u4"), ("dropped_bytes", "<u4"),
        ("sojourn_sum_ns", "<u8"),
    ]
)  # fmt: skip
LEVELS_DTYPE = np.dtype(
    [
        ("type", "u1"), ("hop", "u1"), ("zero", "u1", 6), ("start_ns", "<u8"),
        ("bytes_min", "<u4"), ("bytes_mean", "<u4"), ("bytes_max", "<u4"),
        ("packets_min", "<u4"), ("packets_mean_x1000", "<u4"), ("packets_max", "<u4"),
        ("sojourn_max_ns", "<u8"),
    ]
)  # fmt: skip
assert all(d.itemsize == RECORD_BYTES for d in (FLOW_DTYPE, PACKET_DTYPE, TRAFFIC_DTYPE, LEVELS_DTYPE))
_LEVELS = ("bytes_min", "bytes_mean", "bytes_max", "packets_min", "packets_mean_x1000", "packets_max")
INTERVAL_DTYPE = np.dtype(
    [
        *((name, TRAFFIC_DTYPE[name]) for name in TRAFFIC_DTYPE.names or () if name not in ("type", "zero")),
        *((name, LEVELS_DTYPE[name]) for name in (*_LEVELS, "sojourn_max_ns")),
    ]
)
"""Both records of an interval as one."""

PROTOCOLS = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmpv6"}
SPLIT_BY_PORT = {6, 17}
"""Protocols of which the kernel's tap reads the ports."""


@dataclass(frozen=True)
class Flow:
    """A flow's first record at one hop."""

    hop: int
    flow: int
    protocol: str
    src: str
    sport: int | None
    dst: str
    dport: int | None
    fragments: bool = False
    """Whether these are fragments of datagrams, whose ports are not known."""
    item: str | None = None
    """Fragments alone have it; `store.fragments` sets it."""

    @property
    def label(self) -> str:
        """`tcp 10.0.2.1:80>10.0.0.1:40000`, the same text wherever a flow is named."""
        label = flow_label(self.protocol, self.src, self.sport, self.dst, self.dport)
        if not self.fragments:
            return label
        return f"{label} fragments" if self.item is None else f"{label} fragments of {self.item}"


@dataclass(frozen=True)
class Tap:
    """All of one `tap.bin`. `packets` is a structured array in the order of the file (order of leaving)."""

    flows: tuple[Flow, ...]
    packets: NDArray[Any]
    intervals: NDArray[Any]
    """Hops in the mode `drops` have these; their `packets` are those dropped, marked or still queued."""

    def met_by(self, hop: int) -> tuple[Flow, ...]:
        """All flows, those that this hop met first last. Whichever hop meets a flow first records its ends;
        its number is the same at every hop."""
        return tuple(sorted(self.flows, key=lambda flow: flow.hop == hop))

    def of_hop(self, hop: int) -> NDArray[Any]:
        return select(self.packets, self.packets["hop"] == hop)


def select(packets: NDArray[Any], which: NDArray[np.bool_]) -> NDArray[Any]:
    """Some of the packets; where that is all, no copy, because a large tap is gigabytes."""
    return packets if which.all() else packets[which]


def has_headers(packets: NDArray[Any]) -> bool:
    """Whether flow and ECN bits of the packets are known; one writer knows them of all or of none."""
    return not bool(np.any(packets["flow"] == UNKNOWN_FLOW))


def numbered(flow: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Distinct flow numbers, and for each packet the place of its own among them.

    As np.unique, without sorting millions of packets: flows are numbered from 1, so a table is small.
    """
    if flow.size == 0:
        return np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.int64)
    present = np.zeros(int(flow.max()) + 1, dtype=bool)
    present[flow] = True
    numbers = np.flatnonzero(present)
    place = np.cumsum(present, dtype=np.int64) - 1
    return numbers, place[flow]


def flow_label(protocol: str, src: str, sport: int | None, dst: str, dport: int | None) -> str:
    """Text for a flow, sender first."""

    def end(address: str, port: int | None) -> str:
        host = f"[{address}]" if ":" in address else address
        return host if port is None else f"{host}:{port}"

    return f"{protocol} {end(src, sport)}>{end(dst, dport)}"


def _address(family: int, raw: NDArray[np.uint8]) -> str:
    if family == 4:
        return socket.inet_ntop(socket.AF_INET, raw[:4].tobytes())
    if family == 6:
        return socket.inet_ntop(socket.AF_INET6, raw.tobytes())
    return "?"


def read_records(path: Path, what: str, dtype: np.dtype[Any], last: int) -> NDArray[Any]:
    """The records of a tap's file, whose types are 1 to `last`. An odd shape is an error."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise StoreError(f"no {what} file: {error.strerror}", where=str(path)) from None
    if size % dtype.itemsize:
        raise StoreError(
            f"the {what} is cut off: {size} bytes are not a multiple of {dtype.itemsize}",
            where=str(path),
            remedy="the guest was stopped while writing, or the disk is full; run again",
        )
    records: NDArray[Any] = np.memmap(path, dtype=dtype, mode="r") if size else np.empty(0, dtype=dtype)
    odd = np.flatnonzero((records["type"] < 1) | (records["type"] > last))
    if odd.size:
        at = int(odd[0])
        raise StoreError(
            f"unknown record type {int(records['type'][at])} at byte {at * dtype.itemsize}",
            where=str(path),
            remedy="the kernel and this version of narrows do not belong together: narrows kernel build",
        )
    return records


def read(path: Path) -> Tap:
    """Read a tap file. An empty file is a tap without packets; any other odd shape is an error."""
    records = read_records(path, "tap", PACKET_DTYPE, LEVELS)
    kinds = records["type"]
    packets = records[kinds == PACKET]
    if packets.size and (np.any(packets["outcome"] < DEPARTED) or np.any(packets["outcome"] > QUEUED)):
        raise StoreError("a packet record has an unknown outcome", where=str(path))
    flows = []
    for record in np.asarray(records[kinds == FLOW]).view(FLOW_DTYPE):
        number, family = int(record["protocol"]), int(record["family"])
        # No datagram has the port 0 at both ends: the kernel's tap gives it to every fragment.
        fragments = number in SPLIT_BY_PORT and not record["sport"] and not record["dport"]
        ports = number in SPLIT_BY_PORT and not fragments
        flows.append(
            Flow(
                hop=int(record["hop"]),
                flow=int(record["flow"]),
                protocol=PROTOCOLS.get(number, str(number)) if family in (4, 6) else "other",
                src=_address(family, record["src"]),
                sport=int(record["sport"]) if ports else None,
                dst=_address(family, record["dst"]),
                dport=int(record["dport"]) if ports else None,
                fragments=fragments,
            )
        )
    return Tap(tuple(flows), packets, _intervals(records, path))


def _intervals(records: NDArray[Any], path: Path) -> NDArray[Any]:
    """Each record of an interval's traffic is followed by the one of its levels."""
    kinds = records["type"]
    traffic = np.asarray(records[kinds == TRAFFIC]).view(TRAFFIC_DTYPE)
    levels = np.asarray(records[kinds == LEVELS]).view(LEVELS_DTYPE)
    if traffic.size != levels.size or any(np.any(traffic[n] != levels[n]) for n in ("hop", "start_ns")):
        raise StoreError("the two records of an interval do not belong together", where=str(path))
    both = np.zeros(traffic.size, dtype=INTERVAL_DTYPE)
    for name in INTERVAL_DTYPE.names or ():
        both[name] = traffic[name] if name in (TRAFFIC_DTYPE.names or ()) else levels[name]
    return both


def got_ce(packets: NDArray[Any]) -> NDArray[np.bool_]:
    """Which packets were given a CE that they did not bring, whatever became of them."""
    result: NDArray[np.bool_] = ((packets["tos_out"] & ECN_MASK) == CE) & (
        (packets["tos_in"] & ECN_MASK) != CE
    )
    return result


def marked(packets: NDArray[Any]) -> NDArray[np.bool_]:
    """Which packets left with a CE that they did not bring."""
    result: NDArray[np.bool_] = (packets["outcome"] == DEPARTED) & got_ce(packets)
    return result
