"""Says where a host's socket buffer, and not the network, held a flow back: a rate far below what the link
gives is then no reading of the link.

The kernel itself counts for how long (TCP_INFO: `sndbuf_limited` and `rwnd_limited` of `busy_time`, all in
microseconds since the socket's birth; net/ipv4/tcp.c, tcp_get_info_chrono_stats).
"""

import polars as pl

from narrows.plan.model import Plan

BUFFERS = {
    "tcp_info.sndbuf_limited": (0.05, "the sender's buffer (sndbuf_limited)", "net.ipv4.tcp_wmem"),
    "tcp_info.rwnd_limited": (0.10, "the receiver's window (rwnd_limited)", "net.ipv4.tcp_rmem"),
}
"""From which share of the busy time on it is said. At the start a receiver's window lags behind while it
grows."""
LEAST_BUSY_US = 200_000
"""A socket that was busy for less carried a request."""


def warnings(samples: pl.LazyFrame, plan: Plan) -> list[str]:
    """One warning for each buffer that held flows back, with the worst of them."""
    samplers = [each.id for each in plan.samplers if each.kind == "tcp_info"]
    quantities = [*BUFFERS, "tcp_info.busy_time"]
    last = (
        samples.filter(
            pl.col("quantity").is_in(quantities) & pl.col("hop").is_in(samplers) & (pl.col("t_ns") >= 0)
        )
        .group_by(pl.col("flow", "quantity").cast(pl.String))
        .agg(pl.col("value").max())
        .collect(engine="streaming")
    )
    busy = dict(last.filter(pl.col("quantity") == "tcp_info.busy_time").select("flow", "value").iter_rows())
    found = []
    for name, (least, words, sysctl) in BUFFERS.items():
        shares = sorted(
            (
                (value / busy[flow], flow)
                for flow, value in last.filter(pl.col("quantity") == name).select("flow", "value").iter_rows()
                if busy.get(flow, 0.0) >= LEAST_BUSY_US and value >= least * busy[flow]
            ),
            reverse=True,
        )
        if shares:
            share, flow = shares[0]
            count = "a flow was" if len(shares) == 1 else f"{len(shares)} flows were"
            found.append(
                f"{count} held back by {words}, not by the link, for up to {100 * share:.0f} % of the time "
                f"({flow}): a rate below the link's is the host's; {sysctl} sets it, in Link(sysctls=…)"
            )
    return found
