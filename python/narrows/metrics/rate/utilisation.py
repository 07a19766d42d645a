"""Utilisation: the share of a configured rate that was used, with the layers made comparable.

Definition: measured rate over the rate that the same layer could have had. A shaper's rate counts bytes at
`shaper_overhead_bytes` per packet above IP (Linux HTB on Ethernet: 14). TCP payload in full packets is mtu
- headers bytes of every mtu + overhead that the shaper counts, so the largest possible goodput is rate x
(mtu - headers) / (mtu + overhead). With 1500-byte MTU and TCP timestamps (20 + 20 + 12 bytes of headers)
that is 0.9564 of the configured rate: a speed test that reads 95.6 of 100 Mbit/s has filled the link.

Unit: none (share of 1). Source: linux/net/core/dev.c qdisc_pkt_len_init; RFC 793, RFC 7323 for the header
sizes.
"""

import math

from narrows.headers import ETHERNET_HEADER_BYTES, ETHERNET_MTU, TCP_IPV4_HEADERS_BYTES
from narrows.metrics.statistics.arrays import clean


def largest_goodput_bps(
    rate_bps: float,
    mtu_bytes: int = ETHERNET_MTU,
    headers_bytes: int = TCP_IPV4_HEADERS_BYTES,
    shaper_overhead_bytes: int = ETHERNET_HEADER_BYTES,
) -> float:
    """The highest TCP payload rate that full packets can have through a shaper set to rate_bps."""
    if not 0 < rate_bps < math.inf or mtu_bytes <= headers_bytes:
        raise ValueError(f"rate {rate_bps} bit/s and MTU {mtu_bytes} bytes leave no room for payload")
    return rate_bps * (mtu_bytes - headers_bytes) / (mtu_bytes + shaper_overhead_bytes)


def utilisation(measured_bps: float | None, possible_bps: float) -> float | None:
    """Share of what was possible at the same layer; None of nothing measured."""
    if not 0 < possible_bps < math.inf:
        raise ValueError(f"possible rate {possible_bps} bit/s: it must be above zero")
    known = clean([measured_bps])
    return float(known[0]) / possible_bps if known.size else None
