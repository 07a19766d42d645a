"""`<bulk>.flows.csv`: one row per TCP flow of our own bulk traffic.

Goodput counts what had arrived when the flow ended. A flow that sent a given number of bytes ends when the
receiver has them all. A flow that is stopped ends at the sender, while a queue's worth of packets is still
on its way (the receiver counts these too, later); what is known to have arrived by then is what was
acknowledged.
"""

from typing import Any

import polars as pl

from narrows.store.parsers.common import Parsed, read_csv
from narrows.units import US_PER_MS

_COUNTS = (
    "bytes_sent", "bytes_received", "bytes_acked", "bytes_retrans", "segs_out", "segs_retrans", "min_rtt_us",
)  # fmt: skip
COLUMNS = {
    "flow": pl.Int64(), "src": pl.String(), "sport": pl.Int64(), "dst": pl.String(), "dport": pl.Int64(),
    "cca": pl.String(), "start_ns": pl.Int64(), "end_ns": pl.Int64(),
    **{name: pl.Int64() for name in _COUNTS}, "ended_by": pl.String(),
}  # fmt: skip


def _rate_bps(bytes_: int | None, start_ns: int | None, end_ns: int | None) -> float | None:
    if bytes_ is None or start_ns is None or end_ns is None or end_ns <= start_ns:
        return None
    return bytes_ * 8e9 / (end_ns - start_ns)


def _arrived(row: dict[str, Any]) -> int | None:
    """Bytes that had arrived at the flow's end."""
    bytes_: int | None = row["bytes_acked"] if row["ended_by"] == "stop" else row["bytes_received"]
    return bytes_


def _ratio(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None


def parse(text: str, item: str, *, direction: str | None, where: str = "flows") -> Parsed:
    """Figures of each flow and of all together."""
    frame = read_csv(text, COLUMNS, where=where).sort("flow")
    parsed = Parsed()
    parsed.figure("bulk_flows", frame.height, "flows", direction)
    if not frame.height:
        parsed.warnings.append(f"{item}: no flow ran")
        return parsed
    for row in frame.iter_rows(named=True):
        flow = str(row["flow"])
        received = row["bytes_received"]
        rate = _rate_bps(_arrived(row), row["start_ns"], row["end_ns"])
        ratio = _ratio(row["bytes_retrans"], row["bytes_sent"])
        min_rtt_us = row["min_rtt_us"]
        parsed.figure("bulk_goodput_bps", rate, "bit/s", direction, flow=flow)
        parsed.figure("bulk_bytes_received", received, "bytes", direction, flow=flow)
        parsed.figure("bulk_retransmission_ratio", ratio, "1", direction, flow=flow)
        min_rtt_ms = None if min_rtt_us is None else min_rtt_us / US_PER_MS
        parsed.figure("bulk_min_rtt_ms", min_rtt_ms, "ms", direction, flow=flow)

    def total(column: str) -> int | None:
        """None as soon as one flow's part is unknown: a sum of some is not the sum."""
        return None if frame[column].null_count() else int(frame[column].sum())

    arrived = [_arrived(row) for row in frame.iter_rows(named=True)]
    known = [bytes_ for bytes_ in arrived if bytes_ is not None]
    all_arrived = sum(known) if len(known) == len(arrived) else None
    whole = (all_arrived, frame["start_ns"].min(), frame["end_ns"].max())
    parsed.figure("bulk_goodput_bps", _rate_bps(*whole), "bit/s", direction)  # type: ignore[arg-type]
    parsed.figure("bulk_bytes_received", total("bytes_received"), "bytes", direction)
    parsed.figure(
        "bulk_retransmission_ratio", _ratio(total("bytes_retrans"), total("bytes_sent")), "1", direction
    )
    return parsed
