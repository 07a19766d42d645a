"""What `narrows-agent identify-client` writes: each phase with a record of every packet that arrived.

Pure: it takes the text and gives arrays. Delays are above the smallest of their phase; clocks of two hosts
need not agree, and what they drift within a phase is far below what is judged.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from narrows.headers import UDP_IPV4_HEADERS_BYTES

FORMAT = 1
RECORD = np.dtype(
    [("flow", "<u2"), ("tos", "u1"), ("pad", "u1"), ("number", "<u4"), ("sent", "<i8"), ("arrived", "<i8")]
)
CE = 3
LOST = -1

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class NoRecords(ValueError):
    """The text is not what the client writes; the message says how."""


@dataclass(frozen=True)
class FlowRecords:
    """The packets of one flow, in the order in which they were sent. Lost ones have NaN."""

    sent_s: Floats
    """Since the phase's first packet was sent. Of a lost packet: interpolated between its neighbours."""
    arrived_s: Floats
    """On the receiver's clock, since the phase's first arrival."""
    delay_s: Floats
    """Above the smallest of the phase."""
    tos: Ints
    """As it arrived; -1 where it did not."""
    asked_tos: tuple[int, ...]
    """What packets were sent with, one after the other."""
    bytes: int
    """Bytes of an IP packet."""
    rate_bps: float
    """What was asked for."""

    @property
    def lost(self) -> Bools:
        """Which packets did not arrive."""
        return np.isnan(self.arrived_s)

    @property
    def marked(self) -> Bools:
        """Which arrived with CE."""
        found: Bools = (self.tos >= 0) & ((self.tos & CE) == CE)
        return found

    @property
    def share_lost(self) -> float | None:
        """Lost of sent; None where nothing was sent."""
        return float(self.lost.mean()) if len(self.sent_s) else None


@dataclass(frozen=True)
class Phase:
    """One phase of probing."""

    name: str
    way: str
    seconds: float
    flows: tuple[FlowRecords, ...]
    ip_bytes: int
    dropped_by_socket: int | None
    """By the receiver itself, which was too slow; None: unknown."""

    def delays(self, flow: int) -> Floats:
        """Times of those packets of a flow that arrived, in s."""
        delay = self.flows[flow].delay_s
        return delay[~np.isnan(delay)]


@dataclass(frozen=True)
class Report:
    """All that the client wrote."""

    server: str
    mode: str
    rtt_s: Floats
    phases: tuple[Phase, ...]
    notes: tuple[str, ...]
    elapsed_s: float

    def of(self, way: str, name: str) -> Phase | None:
        """The last phase of that name; None where there was none."""
        found = [phase for phase in self.phases if phase.way == way and phase.name == name]
        return found[-1] if found else None

    @property
    def ways(self) -> tuple[str, ...]:
        """Those that were probed, in their order."""
        return tuple(dict.fromkeys(phase.way for phase in self.phases))


def read(text: str) -> Report:
    """The report of a client's output. NoRecords says what is wrong with it."""
    try:
        raw = json.loads(text)
        if raw["tool"] != "identify" or raw["format"] != FORMAT:
            raise NoRecords(f"a report of {raw['tool']}, format {raw['format']}, not of identify, {FORMAT}")
        return Report(
            server=raw["server"],
            mode=raw["mode"],
            rtt_s=np.array(raw["rtt_ns"], dtype=np.float64) / 1e9,
            phases=tuple(_phase(each) for each in raw["phases"]),
            notes=tuple(raw.get("notes", ())),
            elapsed_s=raw["elapsed_ns"] / 1e9,
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, NoRecords):
            raise
        raise NoRecords(f"not a report of identify: {type(error).__name__}: {error}") from None


def _phase(raw: dict[str, Any]) -> Phase:
    asked = raw["phase"]
    records = np.frombuffer(base64.b64decode(raw["records"]), dtype=RECORD)
    start, first, least = 0, 0, 0
    if len(records):
        start = int(records["sent"].min())
        first = int(records["arrived"].min())
        least = int((records["arrived"] - records["sent"]).min())
    flows = tuple(
        _flow(records[records["flow"] == n], flow, sent, asked["duration_ns"] / 1e9, (start, first, least))
        for n, (flow, sent) in enumerate(zip(asked["flows"], raw["sent"], strict=True))
    )
    return Phase(
        name=asked["name"],
        way=asked["way"],
        seconds=asked["duration_ns"] / 1e9,
        flows=flows,
        ip_bytes=int(raw["ip_bytes"]),
        dropped_by_socket=raw["dropped_by_socket"],
    )


def _flow(records: Any, asked: dict[str, Any], sent: int, seconds: float, zero: Sequence[int]) -> FlowRecords:
    start, first, least = zero
    sent_s = np.full(sent, np.nan)
    arrived_s, delay_s = sent_s.copy(), sent_s.copy()
    tos = np.full(sent, LOST, dtype=np.int64)
    number = records["number"].astype(np.int64)
    keep = number < sent
    # Of doubles the first arrival counts: written last.
    records, number = records[keep][::-1], number[keep][::-1]
    sent_s[number] = (records["sent"] - start) / 1e9
    arrived_s[number] = (records["arrived"] - first) / 1e9
    delay_s[number] = (records["arrived"] - records["sent"] - least) / 1e9
    tos[number] = records["tos"]
    missing = np.isnan(sent_s)
    if missing.all():
        sent_s = np.linspace(0, seconds, sent)
    elif missing.any():
        sent_s[missing] = np.interp(np.flatnonzero(missing), np.flatnonzero(~missing), sent_s[~missing])
    return FlowRecords(
        sent_s=sent_s,
        arrived_s=arrived_s,
        delay_s=delay_s,
        tos=tos,
        asked_tos=tuple(asked["tos"]),
        bytes=int(asked["bytes"]) + UDP_IPV4_HEADERS_BYTES,
        rate_bps=float(asked["rate_bps"]),
    )
