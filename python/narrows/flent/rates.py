"""What each TCP flow of a run had carried until when: the counts that rates are made of.

Counted is payload that had arrived at the receiver's socket; where only the sender's was sampled, what was
acknowledged; where not all were sampled, what left the bottleneck by the tap, Ethernet header included.
Payload and wire rates are never mixed in a run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from narrows.metrics.statistics.arrays import Floats
from narrows.plan.model import BOTTLENECK_HOP

ARRIVED = "payload that had arrived at the receiver"
ACKNOWLEDGED = "payload that was acknowledged"
WIRE = "what left the bottleneck, Ethernet header included"
MIN_DATA_BYTES = 65536
"""A connection that carried less was a tool's own control channel."""
BIN_NS = 10_000_000
_KINDS = {"tcp_info.bytes_received": ARRIVED, "tcp_info.bytes_acked": ACKNOWLEDGED}


@dataclass(frozen=True)
class Flow:
    """One connection's data one way. `counts` are bytes until `t_ns`; it lives from the last instant
    without a byte to the first with all of them."""

    label: str
    direction: str
    kind: str
    t_ns: Floats
    counts: Floats

    @property
    def start_ns(self) -> float:
        return float(self.t_ns[np.flatnonzero(self.counts == 0)[-1]])

    @property
    def end_ns(self) -> float:
        return float(self.t_ns[np.flatnonzero(self.counts >= self.counts[-1])[0]])

    def until(self, t_ns: Floats) -> Floats:
        """Bytes until each time, even between two counts."""
        return np.interp(t_ns, self.t_ns, self.counts)


def data_flows(samples: pl.DataFrame, flows: pl.DataFrame, plan: Mapping[str, Any]) -> list[Flow]:
    """The connections of the plan's items that carried data, in order of their start; of one that carried
    both ways, the way with more."""
    sampled, tapped = _ordered(_sampled(samples, plan)), _ordered(_tapped(samples, flows, plan))
    unseen = {flow.label for flow in tapped} - {flow.label for flow in sampled}
    return tapped if unseen else sampled


def _ordered(flows: Mapping[str, Flow]) -> list[Flow]:
    """The flows with data, by start."""
    counted = {label: flow.counts[-1] for label, flow in flows.items()}
    chosen = [
        flow
        for label, flow in flows.items()
        if flow.counts[-1] > max(counted.get(reverse(label), 0.0), MIN_DATA_BYTES)
    ]
    return sorted(chosen, key=lambda flow: (flow.start_ns, flow.label))


def reverse(label: str) -> str:
    """The other way of `tcp A>B`."""
    protocol, ends = label.split(" ", 1)
    src, dst = ends.split(">", 1)
    return f"{protocol} {dst}>{src}"


def _sampled(samples: pl.DataFrame, plan: Mapping[str, Any]) -> dict[str, Flow]:
    """By what sockets of client and server counted."""
    roles = {node["name"]: node["role"] for node in plan["nodes"]}
    ends = {each["id"]: roles[each["node"]] for each in plan["samplers"] if each["kind"] == "tcp_info"}
    rows = samples.filter(
        pl.col("quantity").cast(pl.String).is_in(list(_KINDS))
        & pl.col("hop").cast(pl.String).is_in(list(ends))
        & pl.col("flow").is_not_null()
        & pl.col("value").is_not_null()
    )
    flows: dict[str, Flow] = {}
    for (source, series, label), part in rows.sort("t_ns").group_by(
        "hop", "quantity", "flow", maintain_order=True
    ):
        kind = _KINDS[str(series)]
        at_client = ends[str(source)] == "client"
        if kind == ARRIVED:
            name, direction = reverse(str(label)), "down" if at_client else "up"
        else:
            name, direction = str(label), "up" if at_client else "down"
        flow = _flow(name, direction, kind, part["t_ns"].to_numpy(), part["value"].to_numpy())
        known = flows.get(name)
        if flow is not None and (known is None or (known.kind, kind) == (ACKNOWLEDGED, ARRIVED)):
            flows[name] = flow
    return flows


def _tapped(samples: pl.DataFrame, flows: pl.DataFrame, plan: Mapping[str, Any]) -> dict[str, Flow]:
    """By what left the first bottleneck; its series end where a run has more flows than it keeps them of."""
    hop = next((each["hop"] for each in plan.get("hops", ())), BOTTLENECK_HOP)
    mine = flows.filter((pl.col("protocol") == "tcp") & pl.col("item").is_not_null() & (pl.col("hop") == hop))
    ways = dict(mine.select("label", "direction").iter_rows())
    rows = samples.filter(
        (pl.col("quantity") == "throughput_10ms")
        & pl.col("flow").cast(pl.String).is_in(list(ways))
        & (pl.col("hop") == hop)
    ).sort("t_ns")
    tapped = {}
    for (label, direction), part in rows.group_by("flow", "direction", maintain_order=True):
        if str(direction) != ways[str(label)]:
            continue
        t_ns = part["t_ns"].to_numpy()
        bytes_ = part["value"].fill_null(0.0).to_numpy() * (BIN_NS / 8e9)
        times = np.concatenate([t_ns[:1], t_ns + BIN_NS])
        counts = np.concatenate([[0.0], np.cumsum(bytes_)])
        flow = _flow(str(label), str(direction), WIRE, times, counts)
        if flow is not None:
            tapped[flow.label] = flow
    return tapped


def _flow(label: str, direction: str, kind: str, t_ns: Any, counts: Any) -> Flow | None:
    """From time 0 on, with an instant without a byte before the first."""
    times, values = np.asarray(t_ns, dtype=float), np.asarray(counts, dtype=float)
    known = times >= 0
    times, values = times[known], np.maximum.accumulate(values[known]) if known.any() else values[known]
    if not len(times) or values[-1] <= 0:
        return None
    if values[0] > 0:
        spacing = float(np.median(np.diff(times))) if len(times) > 1 else float(BIN_NS)
        times = np.concatenate([[times[0] - spacing], times])
        values = np.concatenate([[0.0], values])
    return Flow(label, direction, kind, times, values)
