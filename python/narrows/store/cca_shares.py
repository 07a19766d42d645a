"""Shares of the bottleneck by congestion control algorithm, of the bulk flows of a run.

Definition: of what the bulk items of one direction sent out of the first bottleneck while all of them ran,
the part that those of one CCA have; by the tap, link header included. There is no share where only one CCA
ran, where the items were never all there, or where a run has no tap of every packet.

Unit: none (share of 1). Thousands of flows have theirs from the flow tap (`narrows.runs.many_flows`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import polars as pl

from narrows.plan.items import TcpBulk
from narrows.plan.model import Plan
from narrows.store import schema
from narrows.store.items import Span

NAME = "cca_share"
SOURCE = "cca/"
"""Before the CCA's name."""
SERIES = "throughput_10ms"


def figures(run_id: str, plan: Plan, spans: Mapping[str, Span], samples: pl.DataFrame) -> pl.DataFrame:
    """Rows of the table `metrics`: source `cca/<name>`, by direction of the data."""
    rows: list[tuple[str, str, float]] = []
    roles = {node.name: node.role for node in plan.nodes}
    hop = plan.hops[0].hop if plan.hops else ""
    for way in ("down", "up"):
        sender = "server" if way == "down" else "client"
        bulks = [i for i in plan.traffic if isinstance(i, TcpBulk) and roles[i.sender] == sender]
        rows += [(cca, way, share) for cca, share in _shares(bulks, way, hop, spans, samples).items()]
    frame = pl.DataFrame(
        {
            "source": [f"{SOURCE}{cca}" for cca, _, _ in rows],
            "direction": [way for _, way, _ in rows],
            "value": [share for _, _, share in rows],
        },
        schema={"source": pl.String(), "direction": pl.String(), "value": pl.Float64()},
    )
    return schema.conform(frame, "metrics", {"run_id": run_id, "name": NAME, "unit": "1"})


def _shares(
    bulks: list[TcpBulk], way: str, hop: str, spans: Mapping[str, Span], samples: pl.DataFrame
) -> dict[str, float]:
    ran = [spans.get(item.id) for item in bulks]
    starts = [span.start_ns for span in ran if span and span.start_ns is not None]
    ends = [span.end_ns for span in ran if span and span.end_ns is not None]
    if len({item.cca for item in bulks}) < 2 or len(starts) < len(bulks) or len(ends) < len(bulks):
        return {}
    start, end = max(starts), min(ends)
    by_item = dict(
        samples.filter(
            (pl.col("series") == SERIES)
            & pl.col("flow").is_null()
            & (pl.col("direction") == way)
            & pl.col("source").cast(pl.String).is_in([f"{hop}/{item.item}" for item in bulks])
            & (pl.col("t_ns") >= start)
            & (pl.col("t_ns") < end)
        )
        .group_by(pl.col("source").cast(pl.String))
        .agg(pl.col("value").sum())
        .iter_rows()
    )
    if any(f"{hop}/{item.item}" not in by_item for item in bulks):
        return {}
    sent: dict[str, float] = defaultdict(float)
    for name, cca in {item.item: item.cca for item in bulks}.items():
        sent[cca or "default"] += by_item[f"{hop}/{name}"]
    whole = sum(sent.values())
    return {cca: value / whole for cca, value in sorted(sent.items())} if whole > 0 else {}
