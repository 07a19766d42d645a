"""`<qdisc sampler>.csv` and `<link sampler>.csv`: counters of qdiscs, classes and interfaces over time."""

import polars as pl

from narrows.store.parsers.common import Parsed, read_csv

_QDISC_UNITS = {
    "bytes": "bytes", "packets": "packets", "drops": "packets", "overlimits": "1", "requeues": "1",
    "backlog_bytes": "bytes", "backlog_packets": "packets",
    "marks": "packets", "probability": "1", "delay_us": "us",
    "packets_c": "packets", "packets_l": "packets", "step_marks": "packets", "delay_l_us": "us",
}  # fmt: skip
_LINK_UNITS = {
    "rx_packets": "packets", "tx_packets": "packets", "rx_bytes": "bytes", "tx_bytes": "bytes",
    "rx_dropped": "packets", "tx_dropped": "packets",
}  # fmt: skip


def parse_qdisc(text: str, *, direction: str | None = None, where: str = "qdisc") -> Parsed:
    """Each qdisc and class is a part of its own: `<kind> <handle>`."""
    columns = {"t_ns": pl.Int64(), "kind": pl.String(), "handle": pl.String(), "parent": pl.String()}
    levels = {name: pl.Float64() if name == "probability" else pl.Int64() for name in _QDISC_UNITS}
    frame = read_csv(text, columns | levels, where=where)
    part = pl.concat_str("kind", pl.col("handle").fill_null(""), separator=" ").str.strip_chars_end()
    parsed = Parsed()
    # In the order in which each was first seen.
    first = pl.int_range(pl.len()).min().over("kind", "handle")
    rows = frame.lazy().with_columns(part=part, first=first).sort("first", "t_ns", maintain_order=True)
    parsed.add_columns(rows.collect(), _QDISC_UNITS, direction=direction)
    return parsed


def parse_link(text: str, *, where: str = "link") -> Parsed:
    """Counters of an interface."""
    frame = read_csv(text, {"t_ns": pl.Int64()} | {name: pl.Int64() for name in _LINK_UNITS}, where=where)
    parsed = Parsed()
    parsed.add_columns(frame.sort("t_ns"), _LINK_UNITS)
    return parsed
