"""A run of many flows, reduced to a few quantities: a composition of other metrics.

Definition: all quantities are of the measuring window that the flow tap kept, warm-up left out. A flow's
goodput is what was acknowledged in its window over the window's length. Losses are what the bottleneck
dropped of the flow in its window; halvings are reductions of its window but for those of retransmission
timeouts. The Mathis model is fitted with the mean of the smoothed RTT, once with p = losses over data packets
sent and once with p = halvings over the same (`mathis_choices`: what other readings give). Burstiness is that
of the drops of all flows, and the median over flows of that of each one's own drops; synchronisation
has windows of the mean RTT. Each constant, index and share carries the number of flows it is of.

`moved` says how settled a cumulative metric was: its range over the last part of the record over its last
value. The last part is the window of the run's own stopping rule
(`until_settled`); without one LAST_PART of the measured time, at most 20 minutes. `settled_ns` is when it
first moved less than the rule's share, else 1 %, over that length. What is sampled after the flows were
stopped does not count.

Nothing is read here; the tables are the store's (docs/data.md: tcp_flows, tcp_events, tcp_samples, queue,
flows). What they do not hold is None.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from narrows.metrics.fairness.fairness_over_time import delivered_per_window, jain_over_time, shares_over_time
from narrows.metrics.fairness.jain import jain_index
from narrows.metrics.fairness.losses_per_halving import LossesPerHalving, losses_per_halving
from narrows.metrics.fairness.mathis import Mathis, mathis
from narrows.metrics.fairness.mathis_choices import MathisChoice, mathis_choices
from narrows.metrics.fairness.shares import Share, shares
from narrows.metrics.fairness.synchronisation import Synchronisation, synchronisation
from narrows.metrics.fairness.time_to_fairness import time_to_fairness_ns
from narrows.metrics.queue.burstiness import Burstiness, FlowBurstiness, burstiness, burstiness_of_flows
from narrows.metrics.queue.first_drain import Drain, first_drain
from narrows.metrics.rate.utilisation import largest_goodput_bps, utilisation
from narrows.metrics.statistics.settled import TOLERANCE, settled_at
from narrows.units import NS_PER_S

LAST_PART = 0.25
LAST_PART_MOST_NS = 20 * 60 * 10**9
FAIRNESS_WINDOW_NS = 10 * 10**9
FAIRNESS_HOLD_NS = 30 * 10**9
JAIN = {"t_ns": pl.Int64, "jain": pl.Float64}
"""The columns of a `jain_series`."""
SHARES = {"t_ns": pl.Int64, "cca": pl.String, "share": pl.Float64}
"""The columns of a `share_series`."""


@dataclass(frozen=True)
class Settling:
    """The rule that stopped the flows: moved less than `within` over the window."""

    window_ns: int
    within: float


@dataclass(frozen=True)
class FlowTables:
    """The stored tables of one run. `drops` has t_ns and label (of the dropped packet's flow; NULL: not
    known); `levels` t_ns, value and lowest, the mean and the lowest backlog in bytes per interval. None: not
    recorded."""

    tcp_flows: pl.DataFrame
    tcp_events: pl.DataFrame
    tcp_samples: pl.DataFrame
    drops: pl.DataFrame | None
    levels: pl.DataFrame | None
    rate_bps: float | None
    mtu_bytes: int
    limit_bytes: float | None
    base_rtt_ns: dict[str, int]
    """By sender node."""
    settling: Settling | None = None
    possible_bps: Callable[[tuple[int, int]], float | None] | None = None
    """The goodput that full packets could have had in a window, where the rate moves; None: by `rate_bps`."""


@dataclass(frozen=True)
class Settled:
    """How a cumulative metric ended."""

    final: float
    moved: float | None
    over_ns: int
    settled_ns: int | None


@dataclass(frozen=True)
class ManyFlows:
    """What a run of many flows showed."""

    start_ns: int
    stop_ns: int
    flows: int
    """Flows with something in the window."""
    drops: int | None
    """Packets dropped at the bottleneck in the window."""
    jain: float | None
    jain_by_cca: dict[str, float]
    shares: dict[str, Share]
    mathis_on_losses: Mathis | None
    """This and the next two: of the flows of CCAs that halve, so without BBR."""
    mathis_on_halvings: Mathis | None
    losses_per_halving: LossesPerHalving | None
    drop_burstiness: Burstiness | None
    synchronisation: Synchronisation | None
    utilisation: float | None
    occupancy_mean: float | None
    """Mean backlog over the queue's limit."""
    jain_settled: Settled | None
    share_settled: dict[str, Settled]
    time_to_fairness_ns: int | None
    jain_series: pl.DataFrame
    """t_ns, jain: per window of FAIRNESS_WINDOW_NS."""
    flow_burstiness: FlowBurstiness | None = None
    mathis_choices: tuple[MathisChoice, ...] = ()
    share_series: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SHARES))
    """t_ns, cca, share: the same windows; without rows where all flows have one CCA."""
    table: pl.DataFrame | None = None
    """One row per flow: label, cca, node, base_rtt_ms, goodput_bps, rtt_ms, sent, dropped, lost, halvings,
    timeouts, recoveries; None: of a shard, which does not keep it."""
    drain: Drain | None = None
    """When the queue was first full and then drained, since the run's start; None: not recorded."""

    @property
    def seconds(self) -> float:
        """Length of the measuring window."""
        return (self.stop_ns - self.start_ns) / NS_PER_S

    def get(self, *names: str) -> Any:
        """A number by its place: of ("mathis_on_losses", "c") `c` of the fit on losses; None where one is not
        known."""
        value: Any = self
        for name in names:
            value = None if value is None else getattr(value, name)
        return value


def many_flows(tables: FlowTables) -> ManyFlows | None:
    """Everything of one run; None if no flow has anything in the window."""
    flows = tables.tcp_flows.filter(pl.col("stop_ns") > pl.col("start_ns"))
    if not flows.height:
        return None
    start_ns, stop_ns = int(flows["start_ns"].min()), int(flows["stop_ns"].max())  # type: ignore[arg-type]
    table = _table(flows, tables)
    halving = _that_halve(table)
    rate = table["goodput_bps"]
    ccas = table["cca"].to_list()
    mss = float(flows["mss_bytes"].median() or 0)  # type: ignore[arg-type]
    counters = _counters(tables.tcp_samples, flows, start_ns, stop_ns)
    since_start = _since_start(counters)
    delivered = delivered_per_window(counters, FAIRNESS_WINDOW_NS)
    windows = jain_over_time(delivered, flows.height)
    cumulative = jain_over_time(since_start.rename({"bytes": "value"}), flows.height).drop_nulls("jain")
    return ManyFlows(
        start_ns=start_ns,
        stop_ns=stop_ns,
        flows=table.height,
        drops=None if table["dropped"].null_count() else int(table["dropped"].sum()),
        table=table,
        jain=jain_index(rate),
        jain_by_cca=_jain_by_cca(table),
        shares=shares(ccas, flows["bytes_acked"]) or {},
        mathis_on_losses=_mathis(halving, "dropped", mss),
        mathis_on_halvings=_mathis(halving, "halvings", mss),
        losses_per_halving=_losses_per_halving(halving),
        drop_burstiness=_burstiness(tables.drops, start_ns, stop_ns),
        synchronisation=_synchronisation(tables.tcp_events, table, start_ns, stop_ns),
        utilisation=_utilisation(flows, tables, start_ns, stop_ns),
        occupancy_mean=_occupancy(tables, start_ns, stop_ns),
        jain_settled=_settled(cumulative, "jain", tables.settling),
        share_settled=_shares_settled(since_start, flows, tables.settling),
        time_to_fairness_ns=_time_to_fairness(windows, start_ns),
        jain_series=windows,
        flow_burstiness=_flow_burstiness(tables.drops, table, start_ns, stop_ns),
        mathis_choices=mathis_choices(_that_halve(_for_choices(flows, table, tables)), mss, tables.mtu_bytes),
        share_series=_share_series(delivered, flows),
        drain=_drain(tables, stop_ns),
    )


def _halvings(events: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Per flow: reductions in its window that are not a timeout's."""
    inside = events.join(flows.select("flow", "start_ns", "stop_ns"), on="flow").filter(
        pl.col("reduction")
        & (pl.col("kind").cast(pl.String) != "timeout")
        & (pl.col("t_ns") >= pl.col("start_ns"))
        & (pl.col("t_ns") < pl.col("stop_ns"))
    )
    return inside.group_by("flow").agg(pl.len().alias("halvings"))


def _table(flows: pl.DataFrame, tables: FlowTables) -> pl.DataFrame:
    seconds = (pl.col("stop_ns") - pl.col("start_ns")) / NS_PER_S
    joined = flows.join(_halvings(tables.tcp_events, flows), on="flow", how="left", maintain_order="left")
    dropped = pl.lit(None, dtype=pl.Int64)
    if tables.drops is not None and not tables.drops["label"].null_count():
        spans = flows.select(pl.col("label").cast(pl.String), "start_ns", "stop_ns")
        inside = tables.drops.with_columns(pl.col("label").cast(pl.String)).join(spans, on="label")
        inside = inside.filter(pl.col("t_ns") >= pl.col("start_ns"), pl.col("t_ns") < pl.col("stop_ns"))
        counts = inside.group_by("label").agg(pl.len().alias("drops"))
        joined = joined.with_columns(pl.col("label").cast(pl.String)).join(
            counts, on="label", how="left", maintain_order="left"
        )
        dropped = pl.col("drops").fill_null(0).cast(pl.Int64)
    base = pl.col("node").cast(pl.String).replace_strict(tables.base_rtt_ns, default=None) / 1e6
    return joined.select(
        "label",
        pl.col("cca").cast(pl.String),
        pl.col("node").cast(pl.String),
        base.cast(pl.Float64).alias("base_rtt_ms"),
        (pl.col("bytes_acked") * 8.0 / seconds).alias("goodput_bps"),
        (pl.col("srtt_mean_us") / 1e3).alias("rtt_ms"),
        pl.col("data_packets_sent").alias("sent"),
        dropped.alias("dropped"),
        pl.col("lost_packets").alias("lost"),
        pl.col("halvings").fill_null(0).cast(pl.Int64),
        "timeouts",
        pl.col("recoveries"),
    )


def _that_halve(table: pl.DataFrame) -> pl.DataFrame:
    """The flows of CCAs that halved. BBR loses packets and never halves, so it would count with its losses
    alone, in a model and a ratio that are not about it."""
    return table.filter(pl.col("halvings").sum().over("cca") > 0)


def _jain_by_cca(table: pl.DataFrame) -> dict[str, float]:
    jain = {}
    for (cca,), same in sorted(table.group_by(["cca"]), key=lambda each: str(each[0][0])):
        index = jain_index(same["goodput_bps"])
        if index is not None:
            jain[str(cca)] = index
    return jain


def _mathis(table: pl.DataFrame, events: str, mss_bytes: float) -> Mathis | None:
    rows = table.drop_nulls(["goodput_bps", "rtt_ms", events, "sent"])
    if not rows.height or mss_bytes <= 0:
        return None
    return mathis(rows["goodput_bps"], rows["rtt_ms"] / 1e3, rows[events], rows["sent"], mss_bytes)


def _losses_per_halving(table: pl.DataFrame) -> LossesPerHalving | None:
    rows = table.drop_nulls(["dropped", "halvings"])
    return losses_per_halving(rows["dropped"], rows["halvings"]) if rows.height else None


def _burstiness(drops: pl.DataFrame | None, start_ns: int, stop_ns: int) -> Burstiness | None:
    if drops is None:
        return None
    inside = drops.filter(pl.col("t_ns").is_between(start_ns, stop_ns, closed="left"))
    return burstiness(inside["t_ns"].sort())


def _flow_burstiness(
    drops: pl.DataFrame | None, table: pl.DataFrame, start_ns: int, stop_ns: int
) -> FlowBurstiness | None:
    if drops is None:
        return None
    inside = drops.filter(pl.col("t_ns").is_between(start_ns, stop_ns, closed="left"))
    numbers = table.select("label").with_row_index("number")
    own = inside.with_columns(pl.col("label").cast(pl.String)).join(numbers, on="label")
    return burstiness_of_flows(own["t_ns"], own["number"], table.height) if own.height else None


def _for_choices(flows: pl.DataFrame, table: pl.DataFrame, tables: FlowTables) -> pl.DataFrame:
    """The flows' table with what the other readings of the Mathis model need, as far as it was recorded."""
    more = table.with_columns(flows["flow"])
    seconds = (flows["stop_ns"] - flows["start_ns"]) / NS_PER_S
    for name, column in (("delivered", "delivered_packets"), ("reductions", "reductions")):
        if column in flows.columns:
            more = more.with_columns(flows[column].alias(name))
    if "bytes_sent" in flows.columns:
        more = more.with_columns((flows["bytes_sent"] * 8.0 / seconds).alias("sending_bps"))
    if tables.limit_bytes and tables.rate_bps:
        full_ms = tables.limit_bytes * 8e3 / tables.rate_bps
        more = more.with_columns((pl.col("base_rtt_ms") + full_ms).alias("rtt_full_ms"))
    if "srtt_us" in tables.tcp_samples.columns:
        spans = flows.select("flow", "start_ns", "stop_ns")
        rtt = tables.tcp_samples.select("flow", "t_ns", pl.col("srtt_us") / 1e3).join(spans, on="flow")
        rtt = rtt.filter(pl.col("t_ns") >= pl.col("start_ns"), pl.col("t_ns") < pl.col("stop_ns"))
        quantiles = rtt.group_by("flow").agg(
            pl.col("srtt_us").quantile(q, "linear").alias(f"rtt_p{round(100 * q)}_ms") for q in (0.5, 0.95)
        )
        more = more.join(quantiles, on="flow", how="left", maintain_order="left")
    return more


def _synchronisation(
    events: pl.DataFrame, table: pl.DataFrame, start_ns: int, stop_ns: int
) -> Synchronisation | None:
    rtt_ms = table["rtt_ms"].mean()
    if not isinstance(rtt_ms, float) or rtt_ms <= 0:
        return None
    cuts = events.filter(pl.col("reduction"))
    return synchronisation(cuts["t_ns"], cuts["flow"], table.height, round(rtt_ms * 1e6), start_ns, stop_ns)


def _utilisation(flows: pl.DataFrame, tables: FlowTables, start_ns: int, stop_ns: int) -> float | None:
    if tables.rate_bps is None:
        return None
    goodput = float(flows["bytes_acked"].sum()) * 8e9 / (stop_ns - start_ns)
    if tables.possible_bps is None:
        return utilisation(goodput, largest_goodput_bps(tables.rate_bps, tables.mtu_bytes))
    possible = tables.possible_bps((start_ns, stop_ns))
    return None if possible is None else utilisation(goodput, possible)


def _occupancy(tables: FlowTables, start_ns: int, stop_ns: int) -> float | None:
    if tables.levels is None or not tables.limit_bytes:
        return None
    inside = tables.levels.filter(pl.col("t_ns").is_between(start_ns, stop_ns, closed="left"))
    mean = inside["value"].mean()
    return float(mean) / tables.limit_bytes if isinstance(mean, float) else None


def _drain(tables: FlowTables, stop_ns: int) -> Drain | None:
    levels = tables.levels
    if levels is None or not tables.limit_bytes:
        return None
    return first_drain(levels["t_ns"], levels["value"], levels["lowest"], tables.limit_bytes, stop_ns)


# ---- over time -------------------------------------------------------------------------------------------


def _counters(samples: pl.DataFrame, flows: pl.DataFrame, start_ns: int, stop_ns: int) -> pl.DataFrame:
    """t_ns, flow, bytes: each flow's counter in the window, from its first sample there."""
    watched = samples.join(flows.select("flow"), on="flow", how="semi")
    inside = watched.filter(pl.col("t_ns").is_between(start_ns, stop_ns))
    return inside.select("t_ns", "flow", pl.col("bytes_acked").alias("bytes"))


def _since_start(counters: pl.DataFrame) -> pl.DataFrame:
    """t_ns, flow, bytes: what each flow delivered from the window's start until t."""
    rows = counters.sort("flow", "t_ns")
    since = pl.col("bytes").cast(pl.Float64) - pl.col("bytes").cast(pl.Float64).first().over("flow")
    return rows.with_columns(since.alias("bytes"))


def _settled(series: pl.DataFrame, name: str, rule: Settling | None) -> Settled | None:
    if series.height < 2:
        return None
    times, values = series["t_ns"].to_numpy(), series[name].to_numpy().astype(np.float64)
    over, within = min(LAST_PART_MOST_NS, int((times[-1] - times[0]) * LAST_PART)), TOLERANCE
    if rule is not None:
        over, within = rule.window_ns, rule.within
    if over <= 0:
        return None
    last = values[times >= times[-1] - over]
    final = float(values[-1])
    moved = float(last.max() - last.min()) / abs(final) if final else None
    return Settled(final, moved, over, settled_at(series["t_ns"], series[name], over, within))


def _shares_settled(
    since_start: pl.DataFrame, flows: pl.DataFrame, rule: Settling | None
) -> dict[str, Settled]:
    """Each CCA's cumulative share; of a single CCA there is nothing to tell."""
    kinds = flows.select("flow", pl.col("cca").cast(pl.String))
    if kinds["cca"].n_unique() < 2:
        return {}
    rows = since_start.join(kinds, on="flow")
    total = rows.group_by("t_ns").agg(pl.col("bytes").sum().alias("all"))
    by_cca = rows.group_by("t_ns", "cca").agg(pl.col("bytes").sum())
    shared = by_cca.join(total, on="t_ns").filter(pl.col("all") > 0)
    shared = shared.with_columns((pl.col("bytes") / pl.col("all")).alias("share")).sort("t_ns")
    shares_settled = {}
    for cca in sorted(kinds["cca"].unique()):
        one = _settled(shared.filter(pl.col("cca") == cca), "share", rule)
        if one is not None:
            shares_settled[cca] = one
    return shares_settled


def _share_series(delivered: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    kinds = flows.select("flow", pl.col("cca").cast(pl.String))
    series = shares_over_time(delivered, kinds)
    return series if kinds["cca"].n_unique() > 1 else series.clear()


def _time_to_fairness(windows: pl.DataFrame, start_ns: int) -> int | None:
    if windows.height < 2:
        return None
    return time_to_fairness_ns(windows["t_ns"], windows["jain"], FAIRNESS_HOLD_NS, start_ns)


__all__ = ["FlowTables", "ManyFlows", "Settled", "Settling", "many_flows"]
