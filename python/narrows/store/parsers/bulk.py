"""`<bulk>.flows.csv`: one row per TCP flow of our own bulk traffic."""

from __future__ import annotations

import polars as pl

from narrows.store.parsers.common import Parsed, read_csv

US_PER_MS = 1e3
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


def _ratio(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None


def parse(text: str, item: str, *, direction: str | None, where: str = "flows") -> Parsed:
    """Figures of each flow (source `<item>/<flow>`) and of all together (source `<item>`)."""
    frame = read_csv(text, COLUMNS, where=where).sort("flow")
    parsed = Parsed()
    parsed.figure("bulk_flows", frame.height, "flows", direction)
    if not frame.height:
        parsed.warnings.append(f"{item}: no flow ran")
        return parsed
    for row in frame.iter_rows(named=True):
        source = f"{item}/{row['flow']}"
        received = row["bytes_received"]
        rate = _rate_bps(received, row["start_ns"], row["end_ns"])
        ratio = _ratio(row["bytes_retrans"], row["bytes_sent"])
        min_rtt_us = row["min_rtt_us"]
        parsed.figure("bulk_goodput_bps", rate, "bit/s", direction, source)
        parsed.figure("bulk_bytes_received", received, "bytes", direction, source)
        parsed.figure("bulk_retransmission_ratio", ratio, "1", direction, source)
        parsed.figure(
            "bulk_min_rtt_ms", None if min_rtt_us is None else min_rtt_us / US_PER_MS, "ms", direction, source
        )

    def total(column: str) -> int | None:
        """None as soon as one flow's part is unknown: a sum of some is not the sum."""
        return None if frame[column].null_count() else int(frame[column].sum())

    whole = (total("bytes_received"), frame["start_ns"].min(), frame["end_ns"].max())
    parsed.figure("bulk_goodput_bps", _rate_bps(*whole), "bit/s", direction)  # type: ignore[arg-type]
    parsed.figure("bulk_bytes_received", whole[0], "bytes", direction)
    parsed.figure(
        "bulk_retransmission_ratio", _ratio(total("bytes_retrans"), total("bytes_sent")), "1", direction
    )
    return parsed
