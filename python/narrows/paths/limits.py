"""What limited connections, in words: from the shares of active time that the core put down to each cause.

Which causes there are and how they are told apart is in docs/paths.md, "What limited whom".
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from narrows.paths import scores
from narrows.units import NS_PER_S

WORDS = {
    "application": "the application",
    "receiver": "the receiver's window",
    "buffer": "the sender's buffer",
    "queue": "the path, with a queue",
    "policer": "a policer",
    "loss": "loss",
    "window": "its congestion window",
    "unknown": "cannot tell",
}
"""What each cause of the tables is called."""
PLACES = {"receiver": "at the receiver", "unknown": "at a place that is not known"}
BETWEEN = "between both ends"
LEAST = 0.01
"""A smaller share is not said."""


def share(cause: str) -> str:
    """The column that holds a cause's share."""
    return f"{cause}_limited_share"


def in_words(row: Mapping[str, Any]) -> str:
    """What limited one connection or session: `the receiver's window 91 %, the application 9 %`."""
    if row[share("unknown")] == 1 and row.get("vantage") not in (None, "sender"):
        return f"cannot tell, as it was captured {PLACES.get(row['vantage'], BETWEEN)}"
    shares = [(row[share(cause)] or 0.0, words) for cause, words in WORDS.items()]
    said = [f"{words} {part:.0%}" for part, words in sorted(shares, reverse=True) if part >= LEAST]
    return ", ".join(said).replace("%", " %") or "nothing was sent"


def whom(row: Mapping[str, Any]) -> str:
    """Which connection, how much it sent and how fast: what a sentence on it begins with."""
    to = "client" if row["sender"] == "server" else "server"
    rate = "" if row["throughput_bps"] is None else f" at {row['throughput_bps'] / 1e6:.3g} Mbit/s"
    both = [(row[end], row[f"{end}_port"]) for end in (row["sender"], to)]
    ends = [f"[{address}]:{port}" if ":" in address else f"{address}:{port}" for address, port in both]
    return f"{' → '.join(ends)}, {row['payload_bytes'] / 1e6:.3g} MB{rate}"


def _scored(row: Mapping[str, Any]) -> str:
    score = scores.qoo_of(row)
    return "" if score is None else f"; Quality of Outcome {score:.0f} % by the draft's example"


def together(connections: pl.DataFrame) -> str:
    """What limited all connections, by active time; empty when none had any."""
    known = connections.filter(pl.col("limited_by").is_not_null() & (pl.col("active_ns") > 0)).to_dicts()
    active = sum(row["active_ns"] for row in known)
    if not active:
        return ""
    sums = {
        share(cause): sum((row[share(cause)] or 0.0) * row["active_ns"] for row in known) / active
        for cause in WORDS
    }
    number = f"{len(known)} connections" if len(known) > 1 else "1 connection"
    return f"of {active / NS_PER_S:.4g} s of active time of {number}: {in_words(sums)}"


def sentences(connections: pl.DataFrame, most: int) -> Sequence[str]:
    """One for each of the connections with most payload, after one for all where there are several."""
    sent = connections.filter(pl.col("payload_bytes") > 0).sort("payload_bytes", descending=True)
    several = sent["log"].n_unique() > 1
    said = [
        (f"{Path(row['log']).name}, " if several else "") + f"{whom(row)}: {in_words(row)}{_scored(row)}"
        for row in sent.head(most).to_dicts()
    ]
    return [*([together(sent)] if sent.height > 1 else []), *said]
