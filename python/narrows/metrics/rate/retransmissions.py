"""Retransmission ratio of a TCP sender.

Definition: BytesRetrans / BytesSent, from TCP_INFO (tcpi_bytes_retrans, tcpi_bytes_sent) at the end of the
transfer. BytesSent includes the retransmitted bytes. What was retransmitted need not have been lost (spurious
retransmissions count), and it is neither the drop share nor the loss share.

Unit: none (share of 1). Source: m-lab/ndt-server, spec/ndt7-protocol.md v0.11; RFC 4898 for the counters.
"""

from __future__ import annotations

from narrows.metrics.statistics.arrays import clean


def retransmission_ratio(bytes_retrans: int | None, bytes_sent: int | None) -> float | None:
    """None when a counter is missing or nothing was sent."""
    known = clean([bytes_retrans, bytes_sent])
    return float(known[0] / known[1]) if known.size == 2 and known[1] else None
