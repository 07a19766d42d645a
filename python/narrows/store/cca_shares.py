"""Shares of the bottleneck by congestion control algorithm, of the bulk flows of a run.

Definition: of what the bulk items of one direction sent out of the first bottleneck while all of them ran,
the part that those of one CCA have; by the tap, link header included. There is no share where only one CCA
ran, where the items were never all there, or where a run has no tap of every packet.

Unit: none (share of 1). Thousands of flows have theirs from the flow tap (`narrows.runs.many_flows`).
"""

from collections import defaultdict
from collections.abc import Mapping

import polars as pl

from narrows.plan.items import TcpBulk
from narrows.plan.model import Plan
from narrows.store import schema
from narrows.store.items import Span
from narrows.store.whose import Name, Whose, figure_rows

NAME = "cca_share"
SERIES = "throughput_10ms"


def figures(run_id: str, plan: Plan, spans: Mapping[str, Span], samples: pl.DataFrame) -> pl.DataFrame:
    """Rows of the table `metrics`: of the hop, the CCA as its part, by direction of the data."""
    rows: list[tuple[Name, float, str]] = []
    roles = {node.name: node.role for node in plan.nodes}
    hop = plan.hops[0].hop if plan.hops else ""
    for way in ("down", "up"):
        sender = "server" if way == "down" else "client"
        bulks = [i for i in plan.traffic if isinstance(i, TcpBulk) and roles[i.sender] == sender]
        shares = _shares(bulks, way, hop, spans, samples)
        rows += [(Name(NAME, way, Whose(part=cca, hop=hop)), share, "1") for cca, share in shares.items()]
    return schema.conform(figure_rows(rows), "metrics", {"run_id": run_id})


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
            (pl.col("quantity") == SERIES)
            & pl.col("flow").is_null()
            & (pl.col("direction") == way)
            & (pl.col("hop") == hop)
            & pl.col("item").cast(pl.String).is_in([item.item for item in bulks])
            & (pl.col("t_ns") >= start)
            & (pl.col("t_ns") < end)
        )
        .group_by(pl.col("item").cast(pl.String))
        .agg(pl.col("value").sum())
        .iter_rows()
    )
    if any(item.item not in by_item for item in bulks):
        return {}
    sent: dict[str, float] = defaultdict(float)
    for name, cca in {item.item: item.cca for item in bulks}.items():
        sent[cca or "default"] += by_item[name]
    whole = sum(sent.values())
    return {cca: value / whole for cca, value in sorted(sent.items())} if whole > 0 else {}
