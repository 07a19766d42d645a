"""What the Mathis constant hangs on: C under other readings of "throughput", "RTT", "p" and "best fit".

Definition: `narrows.metrics.fairness.mathis` is fitted again with one thing changed at a time, on losses and
on halvings:

    as defined                        goodput, mean smoothed RTT, MSS, events per packet sent, least squares
    RTT: median                       of the flow's samples
    RTT: 95th percentile              of the flow's samples
    RTT: full queue                   base RTT + the queue's limit / rate
    RTT: base                         base RTT alone
    throughput: with retransmissions  bytes sent, not bytes acknowledged
    packet: of the IP layer           MTU for the MSS
    p: per packet delivered           of TCP's own count, not per packet sent
    p: as the sender counts           packets that it marked lost; reductions with those of timeouts
    fit: least relative error         sum of ((T - C x) / T)^2
    fit: median of the flows          of T / x

Losses and halvings have one p each, so a choice that concerns RTT, throughput or packet moves both constants
by the same factor; only a choice of p moves one alone. A choice whose numbers are missing is left out.

Unit: none. Source: the thesis behind CoreScale gives equation, MSS (1448 bytes) and "least squared prediction
error", and does not say how the RTT of a flow was taken.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from narrows.metrics.fairness.mathis import Mathis, mathis

AS_DEFINED = "as defined"
FULL_QUEUE = "RTT: full queue"
FLOWS_AT_LEAST = 2


@dataclass(frozen=True)
class MathisChoice:
    """Both constants under one reading."""

    name: str
    on_losses: float | None
    on_halvings: float | None


def mathis_choices(flows: pl.DataFrame, mss_bytes: float, mtu_bytes: int) -> tuple[MathisChoice, ...]:
    """Takes one row per flow: goodput_bps, sending_bps, rtt_ms, rtt_p50_ms, rtt_p95_ms, rtt_full_ms,
    base_rtt_ms, sent, delivered, dropped, halvings, lost, reductions (NULL or no column: not known)."""
    if mss_bytes <= 0:
        return ()
    made = [_choice(AS_DEFINED, flows, mss_bytes)]
    for name, column in (
        ("RTT: median", "rtt_p50_ms"),
        ("RTT: 95th percentile", "rtt_p95_ms"),
        (FULL_QUEUE, "rtt_full_ms"),
        ("RTT: base", "base_rtt_ms"),
    ):
        made.append(_choice(name, flows, mss_bytes, rtt=column))
    made.append(_choice("throughput: with retransmissions", flows, mss_bytes, rate="sending_bps"))
    made.append(_choice("packet: of the IP layer", flows, float(mtu_bytes)))
    made.append(_choice("p: per packet delivered", flows, mss_bytes, per="delivered"))
    made.append(_choice("p: as the sender counts", flows, mss_bytes, losses="lost", halvings="reductions"))
    for name, way in (("fit: least relative error", "relative"), ("fit: median of the flows", "median")):
        made.append(_choice(name, flows, mss_bytes, way=way))
    return tuple(one for one in made if one.on_losses is not None or one.on_halvings is not None)


def _choice(
    name: str,
    flows: pl.DataFrame,
    packet_bytes: float,
    *,
    rate: str = "goodput_bps",
    rtt: str = "rtt_ms",
    per: str = "sent",
    losses: str = "dropped",
    halvings: str = "halvings",
    way: str = "",
) -> MathisChoice:
    both: list[float | None] = []
    for events in (losses, halvings):
        needed = [rate, rtt, events, per]
        rows = flows.drop_nulls(needed) if set(needed) <= set(flows.columns) else flows.clear()
        if not rows.height:
            both.append(None)
        elif way:
            both.append(_fitted(rows, events, packet_bytes, way))
        else:
            fit: Mathis | None = mathis(rows[rate], rows[rtt] / 1e3, rows[events], rows[per], packet_bytes)
            both.append(None if fit is None else fit.c)
    return MathisChoice(name, both[0], both[1])


def _fitted(rows: pl.DataFrame, events: str, packet_bytes: float, way: str) -> float | None:
    """C by another fit than least squares."""
    usable = rows.filter(
        (pl.col(events) > 0) & (pl.col("sent") > 0) & (pl.col("goodput_bps") > 0) & (pl.col("rtt_ms") > 0)
    )
    if usable.height < FLOWS_AT_LEAST:
        return None
    p = (usable[events] / usable["sent"]).to_numpy()
    own = (
        usable["goodput_bps"].to_numpy() * usable["rtt_ms"].to_numpy() / 1e3 * np.sqrt(p) / (8 * packet_bytes)
    )
    if way == "median":
        return float(np.median(own))
    # least of sum((1 - C / own)^2): C = sum(1 / own) / sum(1 / own^2)
    return float(np.sum(1 / own) / np.sum(1 / own**2))
