"""Reads the tables of one run of many flows, when its numbers are first asked for.

Where the plan asks for the flow tap and the engine had none (`netns`), the flows' own TCP_INFO samples stand
in for it, if the plan has them.
"""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl

from narrows.engine import layout
from narrows.plan.items import TcpBulk
from narrows.plan.model import Plan
from narrows.runs.capacity import possible_goodput_bps
from narrows.runs.flow_case import limit_bytes
from narrows.runs.flows_sampled import Sampled, Sender, flows_sampled
from narrows.runs.many_flows import FlowTables, ManyFlows, Settling, many_flows
from narrows.store import parquet

LEVELS = {"value": "backlog_mean_bytes_", "lowest": "backlog_min_bytes_"}
"""The series of the tap mode "drops": mean and lowest backlog over time, per interval, whose length ends
their names."""


def reader(folder: Path, plan: Plan) -> Callable[[], ManyFlows | None] | None:
    """How to work out what the flows did; None where the plan has no flow tap."""
    if plan.flow_tap is None:
        return None
    if (folder / "tcp_flows.parquet").exists():
        files = [folder / f"tcp_{name}.parquet" for name in ("flows", "events", "samples")]
        return lambda: many_flows(_tables(folder, plan, Sampled(*map(parquet.read, files))))

    def from_samples() -> ManyFlows | None:
        sampled = _sampled(folder, plan)
        return None if sampled is None else many_flows(_tables(folder, plan, sampled))

    return from_samples


def _sampled(folder: Path, plan: Plan) -> Sampled | None:
    bulks = [item for item in plan.traffic if isinstance(item, TcpBulk)]
    senders = {item.id: Sender(item.sender, item.cca or "default") for item in bulks}
    window = None if plan.flow_tap is None else plan.flow_tap.window
    samples = parquet.read(folder / "samples.parquet")
    stop_ns = None if window is None else window.stop_ns
    return flows_sampled(
        samples, senders, 0 if window is None else window.start_ns, 2**63 - 1 if stop_ns is None else stop_ns
    )


def _tables(folder: Path, plan: Plan, known: Sampled) -> FlowTables:
    link = plan.link
    nodes = {node: pair.base_rtt_ns for pair in link.pairs for node in pair.senders}
    hop = next((h for h in plan.hops if h.direction == "down"), None)
    if hop is not None and not _was_there(folder, hop.hop):
        hop = None
    kept = hop is not None and hop.tap in ("packets", "drops")
    flows = known.flows
    if not nodes:
        nodes = {str(node): link.base_rtt_ns for node in flows["node"].cast(pl.String).unique()}
    senders = {item.sender for item in plan.traffic if isinstance(item, TcpBulk)}
    rule = plan.until_settled
    return FlowTables(
        tcp_flows=flows.filter(pl.col("node").cast(pl.String).is_in(sorted(senders))),
        tcp_events=known.events,
        tcp_samples=known.samples,
        drops=_drops(folder, hop.hop) if hop is not None and kept else None,
        levels=_levels(folder, hop.hop) if hop is not None and hop.tap == "drops" else None,
        rate_bps=link.rate_down_bps,
        possible_bps=lambda window: possible_goodput_bps(plan, "down", window),
        mtu_bytes=link.mtu_bytes,
        limit_bytes=limit_bytes(link),
        base_rtt_ns=nodes,
        settling=None if rule is None else Settling(rule.window_ns, rule.within),
    )


def _was_there(folder: Path, hop: str) -> bool:
    """Whether the tap recorded, as the manifest says: a host without tracefs has none, and no drops were seen
    is not the same as no drops."""
    manifest = json.loads((folder / layout.MANIFEST).read_bytes())
    return any(tap["hop"] == hop and tap.get("tap") is not None for tap in manifest["taps"])


def _drops(folder: Path, hop: str) -> pl.DataFrame:
    """t_ns and label of every packet dropped on its way down."""
    here = (pl.col("hop").cast(pl.String) == hop) & (pl.col("direction").cast(pl.String) == "down")
    labels = parquet.scan(folder / "flows.parquet").filter(here).select("flow", "label")
    return (
        parquet.scan(folder / "queue.parquet")
        .filter(here & (pl.col("event").cast(pl.String) == "drop"))
        .select("t_ns", "flow")
        .join(labels, on="flow", how="left")
        .select("t_ns", "label")
        .sort("t_ns")
        .collect()
    )


def _levels(folder: Path, hop: str) -> pl.DataFrame | None:
    here = (pl.col("hop").cast(pl.String) == hop) & (pl.col("direction").cast(pl.String) == "down")
    rows = parquet.scan(folder / "samples.parquet").filter(here & pl.col("item").is_null())
    series = pl.col("quantity").cast(pl.String)
    mean, lowest = (
        rows.filter(series.str.starts_with(start)).select("t_ns", pl.col("value").alias(name))
        for name, start in LEVELS.items()
    )
    levels = mean.join(lowest, on="t_ns").sort("t_ns").collect()
    return levels if levels.height else None
