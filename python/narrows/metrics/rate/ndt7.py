"""NDT7's own figures, from its measurement messages.

Definitions (m-lab/ndt-server, spec/ndt7-protocol.md v0.11):
- download rate: bytes that the client's application received, over its elapsed time: the last client AppInfo,
  NumBytes * 8 / ElapsedTime. Upload rate: the server's TCPInfo.BytesReceived * 8 / TCPInfo.ElapsedTime, last
  message. Both are rates of TCP payload or above, never of the wire.
- "latency" of the official client: the last TCPInfo.MinRTT. It is the smallest RTT the kernel saw, so it is
  NOT latency under load; that is the distribution of TCPInfo.RTT (smoothed RTT) over the test.
- retransmission: TCPInfo.BytesRetrans / TCPInfo.BytesSent at the sender
  (`narrows.metrics.rate.retransmissions`).

Units: ElapsedTime, RTT and MinRTT are µs on the wire; rates here are bit/s and latencies ms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from narrows.metrics.rate.retransmissions import retransmission_ratio
from narrows.metrics.statistics.arrays import clean
from narrows.metrics.statistics.distribution import Distribution, distribution

US_PER_MS = 1e3
US_PER_S = 1e6
Message = Mapping[str, Any]


@dataclass(frozen=True)
class Ndt7:
    """One direction of one NDT7 test; None where its messages did not say."""

    rate_bps: float | None
    min_rtt_ms: float | None
    rtt_ms: Distribution
    retransmission_ratio: float | None
    elapsed_s: float | None
    messages: int


def rate_bps(received_bytes: int | None, elapsed_us: int | None) -> float | None:
    """Bytes over elapsed microseconds as bit/s."""
    known = clean([received_bytes, elapsed_us])
    return float(known[0] * 8.0 * US_PER_S / known[1]) if known.size == 2 and known[1] else None


def _last(messages: Sequence[Message], part: str, field: str) -> Any:
    for message in reversed(messages):
        value = (message.get(part) or {}).get(field)
        if value is not None and clean([value]).size:
            return value
    return None


def ndt7(direction: str, receiver: Sequence[Message], sender: Sequence[Message]) -> Ndt7:
    """Figures of one direction ("down" or "up") from the messages each end produced, in their order."""
    if direction == "down":
        received, elapsed = _last(receiver, "AppInfo", "NumBytes"), _last(receiver, "AppInfo", "ElapsedTime")
    elif direction == "up":
        received, elapsed = (
            _last(receiver, "TCPInfo", "BytesReceived"),
            _last(receiver, "TCPInfo", "ElapsedTime"),
        )
    else:
        raise ValueError(f'direction {direction!r}: it is "down" or "up"')
    min_rtt_us = _last(sender, "TCPInfo", "MinRTT")
    rtts = [(m.get("TCPInfo") or {}).get("RTT") for m in sender]
    return Ndt7(
        rate_bps=rate_bps(received, elapsed),
        min_rtt_ms=None if min_rtt_us is None else min_rtt_us / US_PER_MS,
        rtt_ms=distribution([None if rtt is None else rtt / US_PER_MS for rtt in rtts]),
        retransmission_ratio=retransmission_ratio(
            _last(sender, "TCPInfo", "BytesRetrans"), _last(sender, "TCPInfo", "BytesSent")
        ),
        elapsed_s=None if not elapsed else elapsed / US_PER_S,
        messages=len(receiver) + len(sender),
    )
