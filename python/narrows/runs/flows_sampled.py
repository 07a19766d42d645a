"""What senders did, from samples of TCP_INFO: where there is no flow tap, as on a host's own kernel.

Definition: a flow's counters over the window are those of its last sample in it less those of its first, and
its own window lies between these two. A **halving** is a change of the slow-start threshold from one sample
to the next; it is a timeout's if the count of timeouts rose with it. The RTT is the mean of the sampled
smoothed RTTs.

This is polling, and right only where samples are closer than reductions can be: at most one per round trip,
so an interval below the RTT. Two reductions to the same threshold count once, one that was undone twice.
Losses of a flow and entries to recovery cannot be had: NULL. BBR leaves the threshold alone: no halvings.

Unit: as in docs/data.md, `tcp_flows`, `tcp_events` and `tcp_samples`, of which these are stand-ins.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

FIELDS = (
    "bytes_acked", "bytes_sent", "data_segs_out", "delivered", "total_retrans", "total_rto", "rtt",
    "snd_cwnd", "snd_ssthresh", "snd_mss",
)  # fmt: skip
PREFIX = "tcp_info."
INFINITE_SSTHRESH = 0x7FFFFFFF
SAMPLES_AT_LEAST = 2


@dataclass(frozen=True)
class Sender:
    """Who sends an item's flows, and how."""

    node: str
    cca: str


@dataclass(frozen=True)
class Sampled:
    """Stand-ins for the flow tap's tables."""

    flows: pl.DataFrame
    events: pl.DataFrame
    samples: pl.DataFrame


def flows_sampled(
    samples: pl.DataFrame, senders: Mapping[str, Sender], start_ns: int, stop_ns: int
) -> Sampled | None:
    """The flows in rows of item, quantity, flow, t_ns, value; None where no flow has two samples in the
    window, or a field is missing. `senders` is by item."""
    wide = _wide(samples, senders)
    if wide is None:
        return None
    numbers = wide.select("label").unique(maintain_order=True).with_row_index("flow", offset=1)
    wide = wide.join(numbers.with_columns(pl.col("flow").cast(pl.Int64)), on="label").sort("flow", "t_ns")
    inside = wide.filter(pl.col("t_ns").is_between(start_ns, stop_ns))
    if not inside.height:
        return None
    grown = (
        ("bytes_acked", "bytes_acked"),
        ("bytes_sent", "bytes_sent"),
        ("data_packets_sent", "data_segs_out"),
        ("delivered_packets", "delivered"),
        ("retransmitted_packets", "total_retrans"),
        ("timeouts", "total_rto"),
    )
    flows = (
        inside.group_by("flow", maintain_order=True)
        .agg(
            pl.first("label", "item"),
            pl.first("t_ns").alias("start_ns"),
            pl.last("t_ns").alias("stop_ns"),
            pl.len().alias("samples"),
            *((pl.last(field) - pl.first(field)).cast(pl.Int64).alias(name) for name, field in grown),
            pl.mean("rtt").alias("srtt_mean_us"),
            pl.last("snd_mss").cast(pl.Int64).alias("mss_bytes"),
        )
        .filter(pl.col("samples") >= SAMPLES_AT_LEAST)
    )
    if not flows.height:
        return None
    said = {source: (sender.node, sender.cca) for source, sender in senders.items()}
    flows = flows.with_columns(
        pl.col("item")
        .replace_strict({s: n for s, (n, _) in said.items()}, return_dtype=pl.String)
        .alias("node"),
        pl.col("item")
        .replace_strict({s: c for s, (_, c) in said.items()}, return_dtype=pl.String)
        .alias("cca"),
        pl.lit(None, dtype=pl.Int64).alias("lost_packets"),
        pl.lit(None, dtype=pl.Int64).alias("recoveries"),
    ).drop("item", "samples")
    return Sampled(
        flows,
        _events(wide),
        wide.select(
            "flow",
            "t_ns",
            pl.col("bytes_acked").cast(pl.Int64),
            pl.col("rtt").cast(pl.Int64).alias("srtt_us"),
            pl.col("snd_cwnd").cast(pl.Int64).alias("cwnd_packets"),
        ),
    )


def _wide(samples: pl.DataFrame, senders: Mapping[str, Sender]) -> pl.DataFrame | None:
    """One row per socket and instant, one column per field."""
    text = [pl.col(name).cast(pl.String) for name in ("item", "quantity", "flow")]
    rows = samples.select(*text, "t_ns", "value").filter(
        pl.col("item").is_in(sorted(senders)), pl.col("quantity").is_in([PREFIX + name for name in FIELDS])
    )
    if not rows.height:
        return None
    wide = rows.pivot(on="quantity", index=["item", "flow", "t_ns"], values="value")
    wide = wide.rename({name: name.removeprefix(PREFIX) for name in wide.columns} | {"flow": "label"})
    # A threshold that was never set has no samples; until the first reduction it is infinite.
    threshold = pl.col("snd_ssthresh") if "snd_ssthresh" in wide.columns else pl.lit(None, dtype=pl.Float64)
    wide = wide.with_columns(threshold.fill_null(INFINITE_SSTHRESH).alias("snd_ssthresh"))
    return wide.sort("label", "t_ns") if set(FIELDS) <= set(wide.columns) else None


def _events(wide: pl.DataFrame) -> pl.DataFrame:
    """Changes of the threshold, at the sample that shows them first."""
    before = {name: pl.col(name).shift(1).over("flow") for name in ("snd_ssthresh", "total_rto")}
    changed = wide.filter(
        before["snd_ssthresh"].is_not_null()
        & (pl.col("snd_ssthresh") != before["snd_ssthresh"])
        & (pl.col("snd_ssthresh") < INFINITE_SSTHRESH)
    )
    late = wide.with_columns((pl.col("total_rto") > before["total_rto"]).alias("timed_out"))
    kinds = changed.join(late.select("flow", "t_ns", "timed_out"), on=["flow", "t_ns"], how="left")
    return kinds.select(
        "flow",
        "t_ns",
        pl.when("timed_out").then(pl.lit("timeout")).otherwise(pl.lit("recovery")).alias("kind"),
        pl.lit(True).alias("reduction"),
    )
