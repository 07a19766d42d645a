"""What the TCP sockets of a run used, by item: congestion control, ECN, MSS, limit of pacing.

It is the kernel's word, from the samplers of TCP_INFO and the flow tap; a socket that lived between two
samples was not seen. Of a connection only the end counts that sent more. `narrows.plan.uses` compares.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from narrows.plan.items import Command, Endpoint, OwnTool, TcpBulk
from narrows.plan.model import Plan
from narrows.store.items import FlowItems, Span

ECN = 8
"""TCPI_OPT_ECN of tcpi_options."""
NO_LIMIT = 2.0**63
"""Above it, max_pacing_rate is ~0: none."""
ENDS = ["src", "sport", "dst", "dport"]
KIND = ["cca", "ecn", "mss_bytes", "max_pacing_bps"]
SCHEMA: dict[str, Any] = {
    "src": pl.String(), "sport": pl.Int64(), "dst": pl.String(), "dport": pl.Int64(), "cca": pl.String(),
    "ecn": pl.Boolean(), "mss_bytes": pl.Int64(), "max_pacing_bps": pl.Int64(),
    "first_ns": pl.Int64(), "last_ns": pl.Int64(), "low_bytes": pl.Int64(), "bytes": pl.Int64(),
}  # fmt: skip


def of_samples(frame: pl.DataFrame) -> pl.DataFrame:
    """A row for each socket and congestion control among rows of TCP_INFO (parsers.tcp_info)."""
    there = frame.filter(pl.col("state") != "syn-sent").sort("t_ns")

    def column(name: str) -> pl.Expr:
        return pl.col(name) if name in frame.columns else pl.lit(None, dtype=pl.Float64())

    limit = column("max_pacing_rate")
    return (
        there.with_columns(
            ecn=(column("options").cast(pl.Int64) & ECN) > 0,
            mss_bytes=column("snd_mss"),
            max_pacing_bps=pl.when((limit >= 0) & (limit < NO_LIMIT)).then(limit * 8),
            acked=column("bytes_acked").fill_null(0),
        )
        .group_by([*ENDS, "cca"], maintain_order=True)
        .agg(
            pl.col("ecn", "mss_bytes", "max_pacing_bps").last(),
            first_ns=pl.col("t_ns").min(),
            last_ns=pl.col("t_ns").max(),
            low_bytes=pl.col("acked").min(),
            bytes=pl.col("acked").max(),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
    )


def of_flow_tap(flows: pl.DataFrame) -> pl.DataFrame:
    """The same of the table `tcp_flows`, with its node."""
    return flows.select(
        pl.col("node").cast(pl.String),
        pl.col("src", "dst"),
        pl.col("sport", "dport").cast(pl.Int64),
        pl.col("cca").cast(pl.String),
        "ecn",
        "mss_bytes",
        max_pacing_bps=pl.lit(None, dtype=pl.Int64()),
        first_ns="start_ns",
        last_ns="stop_ns",
        low_bytes=pl.lit(0, dtype=pl.Int64()),
        bytes="bytes_acked",
    ).select("node", *SCHEMA)


def seen(
    plan: Plan, parts: Iterable[pl.DataFrame], spans: Mapping[str, Span]
) -> dict[str, list[dict[str, Any]]]:
    """By part of the plan that sends over TCP: the kinds of sockets it sent through, the most data first."""
    frames = [part for part in parts if part.height]
    if not frames:
        return {}
    rows = _senders(_sockets(pl.concat(frames)))
    finder = FlowItems(plan, spans)
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        times = (row["first_ns"], row["last_ns"])
        owner = finder.find("tcp", row["src"], row["sport"], row["dst"], row["dport"], *times)
        for part in plan.traffic:
            if isinstance(part, TcpBulk | Command) and _is_of(plan, part, owner, row):
                found.setdefault(part.id, []).append(row)
    return {name: _kinds(own) for name, own in found.items()}


def unseen(plan: Plan, found: Mapping[str, Any]) -> list[str]:
    """A line for each program of a person's own that says what its sockets use, where none was seen."""
    own = {one.id for one in plan.composites if isinstance(one, OwnTool)}
    known = {part.item for part in plan.traffic if part.id in found}
    lines = {}
    for part in plan.traffic:
        if not isinstance(part, Command) or part.uses is None or part.item in known:
            continue
        ends = [end for each in plan.traffic if each.item == part.item for end in each.endpoints]
        may_be_tcp = not ends or any(end.protocol == "tcp" for end in ends)
        if may_be_tcp and (part.tool == "command" or part.item in own):
            lines[part.item] = (
                f"{part.item}: no TCP socket of it was seen, so what it says of its sockets was not checked "
                "(over QUIC or another transport of its own it is its word alone)"
            )
    return list(lines.values())


def _sockets(rows: pl.DataFrame) -> pl.DataFrame:
    """Pieces of one sampler and several samplers put together: one row for each socket and congestion
    control, with what it had acknowledged while it used it."""
    return (
        rows.sort("first_ns")
        .group_by(["node", *ENDS, "cca"], maintain_order=True)
        .agg(
            pl.col("ecn", "mss_bytes", "max_pacing_bps").last(),
            pl.col("first_ns", "low_bytes").min(),
            pl.col("last_ns", "bytes").max(),
        )
        .with_columns(is_first=pl.col("first_ns") == pl.col("first_ns").min().over(["node", *ENDS]))
        .with_columns(
            bytes=pl.when("is_first").then("bytes").otherwise(pl.col("bytes") - pl.col("low_bytes"))
        )
    )


def _senders(rows: pl.DataFrame) -> pl.DataFrame:
    """Without the ends of connections whose other end was seen to send more."""
    sent = rows.group_by(ENDS).agg(sent=pl.col("bytes").sum())
    other = sent.select(src="dst", sport="dport", dst="src", dport="sport", theirs="sent")
    joined = rows.join(sent, on=ENDS).join(other, on=ENDS, how="left", maintain_order="left")
    return joined.filter(pl.col("sent") >= pl.col("theirs").fill_null(0))


def _is_of(plan: Plan, part: TcpBulk | Command, owner: str | None, row: Mapping[str, Any]) -> bool:
    """Whether a socket is of this part: at its node, and of its flow; of a server, of a flow of its item or
    with an endpoint of its own."""
    if row["node"] != (part.sender if isinstance(part, TcpBulk) else part.node):
        return False
    if isinstance(part, TcpBulk) or not part.background:
        return owner == part.id
    item = next((each.item for each in plan.traffic if each.id == owner), None)
    return item == part.item or any(_has(row, end) for end in part.endpoints)


def _has(row: Mapping[str, Any], end: Endpoint) -> bool:
    ends = ((row["src"], row["sport"]), (row["dst"], row["dport"]))
    return end.protocol == "tcp" and (end.address, end.port) in ends


def _kinds(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kinds = (
        pl.DataFrame(rows, schema_overrides=SCHEMA)
        .group_by(KIND, maintain_order=True)
        .agg(connections=pl.len(), bytes=pl.col("bytes").sum())
        .sort("bytes", descending=True, maintain_order=True)
    )
    return kinds.to_dicts()
