"""UDP conversations in words: who sent what to whom, and what QUIC shows of the path (docs/paths.md)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from narrows.paths.limits import whom
from narrows.units import NS_PER_MS


def facts(row: Mapping[str, Any]) -> str:
    """What is known of one conversation, the round trip by the best way that there is."""
    said = []
    if row["protocol"] == "quic":
        version = f" version {row['quic_version']}" if row["quic_version"] else ""
        said.append(f"QUIC{version}" + (f" with {row['server_name']}" if row["server_name"] else ""))
    elif row["protocol"] == "rtp":
        said.append("RTP")
    if row["lost_packets"] is not None:
        said.append(
            f"{row['lost_packets']} packets lost behind the capture, {row['unseen_packets']} never seen"
        )
    if row["rtt_median_ns"] is not None:
        said.append(
            f"from here to the receiver and back {_ms(row['rtt_median_ns'])} in the median of"
            f" {row['rtt_samples']} acknowledgements, {_ms(row['rtt_min_ns'])} at least"
        )
    elif row["spin_rtt_median_ns"] is not None:
        said.append(
            f"round trip {_ms(row['spin_rtt_median_ns'])} by {row['spin_rtts']} turns of the spin bit, median"
        )
    if row["handshake_rtt_ns"] is not None:
        said.append(f"round trip of the handshake {_ms(row['handshake_rtt_ns'])}")
    if row["ce_marked"]:
        said.append(f"{row['ce_marked']} datagrams marked CE")
    if row["longest_gap_ns"] is not None:
        said.append(f"longest gap {_ms(row['longest_gap_ns'])}")
    return "; ".join(said) or "one datagram"


def _ms(value_ns: float) -> str:
    return f"{value_ns / NS_PER_MS:.4g} ms"


def sentences(udp: pl.DataFrame, most: int) -> Sequence[str]:
    """One for each of the conversations with most payload, and how many more there are."""
    order = udp.sort("payload_bytes", "log", "conversation", descending=[True, False, False])
    several = order["log"].n_unique() > 1
    said = [
        (f"{Path(row['log']).name}, " if several else "") + f"{whom(row)}: {facts(row)}"
        for row in order.head(most).to_dicts()
    ]
    return [*said, *([f"and {order.height - most} more with less payload"] if order.height > most else [])]
