"""The tables of the flow tap: counters per socket in the measuring window, events, samples.

The counters are the kernel's; here they are only subtracted (warm-up) and named. What follows from them
(Mathis' constant, burstiness, fairness) is for `narrows.metrics`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from narrows.errors import StoreError
from narrows.plan.model import Plan
from narrows.store import flow_tap, schema
from narrows.store.items import FlowItems, Span, sending_direction

_SAME = (
    *("bytes_acked", "bytes_sent", "bytes_retrans", "recoveries", "timeouts", "cwrs", "tlps"),
    *("reductions", "undos"),
)
COUNTERS = {name: name for name in _SAME} | {
    "data_packets_sent": "data_segs_out",
    "retransmitted_packets": "retrans",
    "delivered_packets": "delivered",
    "delivered_ce_packets": "delivered_ce",
    "lost_packets": "lost",
}
"""Column of `tcp_flows`: field of a snapshot."""

NO_MIN_RTT_US = 0xFFFF_FFFF
NO_SSTHRESH = 0x7FFF_FFFF
KINDS = {1: "recovery", 2: "timeout", 3: "cwr", 4: "tlp", 5: "undo", 6: "late_undo"}
STATES = {0: "open", 1: "disorder", 2: "cwr", 3: "recovery", 4: "loss"}
_COUNTED = {"recoveries": (1,), "timeouts": (2,), "cwrs": (3,), "tlps": (4,), "undos": (5, 6)}


@dataclass(frozen=True)
class FlowTapTables:
    """Frames in the shape of the store's tables."""

    flows: pl.DataFrame
    events: pl.DataFrame
    samples: pl.DataFrame


def derive(
    run_id: str,
    plan: Plan,
    data: flow_tap.FlowTap,
    totals: Mapping[str, int] | None,
    epoch_ns: int,
    spans: Mapping[str, Span],
) -> FlowTapTables:
    """All tables; raises if the file is not all that the kernel counted."""
    check(data, totals)
    data = senders(data)
    return FlowTapTables(
        flows=_flows(run_id, plan, data, epoch_ns, spans),
        events=_events(run_id, data.events, epoch_ns),
        samples=_samples(run_id, data.samples, epoch_ns),
    )


def senders(data: flow_tap.FlowTap) -> flow_tap.FlowTap:
    """Without the sockets that never sent data: where flows run both ways, a port has receivers too."""
    last = _last_snapshots(data.snapshots)
    sent = last["flow"][last["data_segs_out"] > 0]
    known = set(sent.tolist())
    return flow_tap.FlowTap(
        flows=tuple(flow for flow in data.flows if flow.flow in known),
        events=data.events[np.isin(data.events["flow"], sent)],
        samples=data.samples[np.isin(data.samples["flow"], sent)],
        snapshots=data.snapshots[np.isin(data.snapshots["flow"], sent)],
    )


def check(data: flow_tap.FlowTap, totals: Mapping[str, int] | None) -> None:
    """The same counted twice: sockets and events by the kernel's totals, events by each socket's own."""
    if totals is None:
        raise StoreError("the flow tap has no totals in the agent's result")
    for name, count in {"watched": len(data.flows), "events": int(data.events.size)}.items():
        if totals.get(name) != count:
            raise StoreError(f"flow tap: records ≠ totals: {name} {count} ≠ {totals.get(name)}")
    last = _last_snapshots(data.snapshots)
    for name, kinds in _COUNTED.items():
        counted = np.bincount(
            data.events["flow"][np.isin(data.events["kind"], kinds)], minlength=len(data.flows) + 1
        )
        wrong = np.flatnonzero(counted[last["flow"]] != last[name])
        if wrong.size:
            flow = last[wrong[0]]
            number = int(flow["flow"])
            raise StoreError(f"flow tap: {name} of flow {number}: {counted[number]} events ≠ {flow[name]}")


def _last_snapshots(snapshots: NDArray[Any]) -> NDArray[Any]:
    """Each flow's last snapshot: when it closed, else at the flush."""
    final: NDArray[Any] = snapshots[np.isin(snapshots["why"], (flow_tap.CLOSED, flow_tap.FLUSH))]
    return final


def _flows(
    run_id: str, plan: Plan, data: flow_tap.FlowTap, epoch_ns: int, spans: Mapping[str, Span]
) -> pl.DataFrame:
    assert plan.flow_tap is not None
    by_flow: dict[int, list[Any]] = {flow.flow: [] for flow in data.flows}
    for snapshot in data.snapshots:
        by_flow[int(snapshot["flow"])].append(snapshot)
    finder = FlowItems(plan, dict(spans))
    sampled = _mean_by_flow(data.samples)
    rows = []
    for flow in data.flows:
        node = plan.flow_tap.watch[flow.watch].node
        snapshots = by_flow[flow.flow]
        born_ns, died_ns = _life(snapshots, epoch_ns)
        edges = _edges(plan, snapshots, epoch_ns)
        if edges is None:
            continue
        first, last = edges
        start_ns, stop_ns = int(first["t_ns"]) - epoch_ns, int(last["t_ns"]) - epoch_ns
        row: dict[str, Any] = {
            "direction": sending_direction(plan, node), "node": node, "flow": flow.flow, "label": flow.label,
            "src": flow.src, "sport": flow.sport, "dst": flow.dst, "dport": flow.dport,
            "item": finder.find("tcp", flow.src, flow.sport, flow.dst, flow.dport, born_ns,
                                stop_ns if died_ns is None else died_ns),
            "cca": flow.cca, "ecn": flow.ecn, "sack": flow.sack, "born_ns": born_ns, "died_ns": died_ns,
            "start_ns": start_ns, "stop_ns": stop_ns,
        }  # fmt: skip
        # Unsigned differences are right even where a counter has wrapped round.
        with np.errstate(over="ignore"):
            row |= {column: int(last[field] - first[field]) for column, field in COUNTERS.items()}
        min_rtt, ssthresh, srtt = int(last["min_rtt_us"]), int(last["ssthresh"]), int(last["srtt_us"])
        row |= {
            "srtt_us": srtt or None,
            "min_rtt_us": None if min_rtt == NO_MIN_RTT_US else min_rtt,
            "cwnd_packets": int(last["cwnd"]),
            "ssthresh_packets": None if ssthresh >= NO_SSTHRESH else ssthresh,
            "mss_bytes": int(last["mss_bytes"]),
            "srtt_mean_us": sampled(flow.flow, int(first["t_ns"]), int(last["t_ns"])),
        }
        rows.append(row)
    columns = {name: dtype for name, dtype in schema.TABLES["tcp_flows"].items() if name != "run_id"}
    # polars builds categoricals from text only
    plain = {name: pl.String() if isinstance(d, pl.Categorical) else d for name, d in columns.items()}
    return schema.conform(pl.DataFrame(rows, schema=plain), "tcp_flows", {"run_id": run_id})


def _life(snapshots: list[Any], epoch_ns: int) -> tuple[int, int | None]:
    closed = [s for s in snapshots if s["why"] == flow_tap.CLOSED]
    return int(snapshots[0]["t_ns"]) - epoch_ns, int(closed[0]["t_ns"]) - epoch_ns if closed else None


def _edges(plan: Plan, snapshots: list[Any], epoch_ns: int) -> tuple[Any, Any] | None:
    """First and last snapshot of what is counted; None: the socket did not live in the window."""
    assert plan.flow_tap is not None
    window = plan.flow_tap.window
    starts = [s for s in snapshots if (s["why"], s["number"]) == (flow_tap.MARK, flow_tap.WINDOW_STARTS)]
    stops = [s for s in snapshots if (s["why"], s["number"]) == (flow_tap.MARK, flow_tap.WINDOW_STOPS)]
    first = starts[0] if starts else snapshots[0]
    last = stops[-1] if stops else snapshots[-1]
    if window is not None:
        born_ns, end_ns = (int(s["t_ns"]) - epoch_ns for s in (snapshots[0], last))
        if end_ns <= window.start_ns or (window.stop_ns is not None and born_ns >= window.stop_ns):
            return None
    return first, last


def _mean_by_flow(samples: NDArray[Any]) -> Any:
    """A function of flow, from, to (CLOCK_MONOTONIC): mean srtt of its samples there, or None."""
    known = samples[samples["srtt_us"] > 0]
    known = known[np.argsort(known["flow"], kind="stable")]
    sums = np.concatenate([[0], np.cumsum(known["srtt_us"], dtype=np.int64)])

    def mean(flow: int, from_ns: int, to_ns: int) -> float | None:
        low, high = np.searchsorted(known["flow"], [flow, flow + 1])
        times = known["t_ns"][low:high]
        first, end = low + np.searchsorted(times, from_ns), low + np.searchsorted(times, to_ns, side="right")
        return float(sums[end] - sums[first]) / float(end - first) if end > first else None

    return mean


def _events(run_id: str, events: NDArray[Any], epoch_ns: int) -> pl.DataFrame:
    if unknown := set(np.unique(events["kind"]).tolist()) - set(KINDS):
        raise StoreError(f"flow tap: unknown kind of event {min(unknown)}")

    def known(values: NDArray[Any]) -> pl.Series:
        return pl.Series(values.astype(np.int64)).replace(0, None)

    frame = pl.DataFrame(
        {
            "flow": events["flow"],
            "t_ns": events["t_ns"].astype(np.int64) - epoch_ns,
            "kind": pl.Series(events["kind"]).replace_strict(KINDS, return_dtype=pl.String),
            "from_state": pl.Series(events["from"]).replace_strict(STATES, return_dtype=pl.String),
            "reduction": (events["flags"] & flow_tap.REDUCTION).astype(bool),
            "cwnd_before": known(events["cwnd_before"]),
            "cwnd_after": known(events["cwnd_after"]),
            "in_flight_packets": events["in_flight"],
            "lost_packets": events["lost"],
        }
    )
    return schema.conform(frame, "tcp_events", {"run_id": run_id})


def _samples(run_id: str, samples: NDArray[Any], epoch_ns: int) -> pl.DataFrame:
    frame = pl.DataFrame(
        {
            "flow": samples["flow"],
            "t_ns": samples["t_ns"].astype(np.int64) - epoch_ns,
            "bytes_acked": samples["bytes_acked"].astype(np.int64),
            "srtt_us": pl.Series(samples["srtt_us"].astype(np.int64)).replace(0, None),
            "cwnd_packets": samples["cwnd"],
        }
    )
    return schema.conform(frame, "tcp_samples", {"run_id": run_id})
