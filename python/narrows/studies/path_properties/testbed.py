"""The paths that the experiments share: one property each that an estimator could mistake for another.

All carry 20 Mbit/s down, and a FIFO that holds 100 ms of it unless the path says otherwise.
"""

from typing import Any

from narrows.spec import (
    Link,
    axis,
    bfifo,
    bulk,
    cake,
    capture,
    codel,
    htb,
    iperf3,
    lte_drive,
    policer,
    repeat,
    sample,
    split_tcp,
    tap,
)

RATE = "20 Mbit/s"
QUEUE = "250 KB"
SLOW_UPLOAD = "200 kbit/s"
"""The acknowledgements of 20 Mbit/s, one for two segments, need 440 kbit/s."""
BURST = "60 KB"
"""A bucket of 24 ms of the rate."""
POLICED_RATE = "50 Mbit/s"
"""The rate of the experiment that varies policers alone."""
MUCH_LOSS = "4 %"
"""Leaves a window of some segments, so that many come singly and wait for the receiver's delayed ACK."""
PROXY, POLICED = "proxy", "policer"
DURATION = "15 s"
REPETITIONS = 6


def _paths(base_rtt: str) -> dict[str, Any]:
    """The paths by name, of one base RTT."""

    def link(**options: Any) -> Link:
        usual: dict[str, Any] = {"rate": RATE, "base_rtt": base_rtt, "queue": bfifo(limit=QUEUE)}
        return Link(**(usual | options))

    fifo_up = bfifo(limit="30 KB")
    return {
        "plain": link(),
        "codel": link(queue=codel()),
        "moving_rate": link(rate=lte_drive(mean=RATE, seed=1), rate_up=RATE),
        "shaper_burst": link(shaper=htb(burst=BURST, cburst=BURST), shaper_up=htb()),
        POLICED: link(shaper=policer(burst=BURST), shaper_up=htb()),
        "random_loss": link(loss="0.5 %", loss_up="0 %"),
        "lost_acks": link(loss="0 %", loss_up="20 %"),
        "reordering": link(jitter="3 ms", jitter_up="0 s"),
        "thinned_acks": link(rate_up=SLOW_UPLOAD, queue_up=cake(ack_filter=True)),
        "waiting_acks": link(rate_up=SLOW_UPLOAD, queue_up=fifo_up),
        "gro": link(offloads={"gro": True}),
        "delayed_acks": link(loss=MUCH_LOSS, loss_up="0 %"),
        PROXY: link(),
    }


def links() -> Any:
    """The axes `base_rtt` and `path`."""
    return axis(
        "base_rtt",
        {label: axis("path", _paths(rtt)) for label, rtt in (("20ms", "20 ms"), ("100ms", "100 ms"))},
    )


def proxy() -> Any:
    """A proxy that splits connections, on the path that has one."""
    return axis("path", {name: split_tcp() if name == PROXY else None for name in _paths("20 ms")})


def download() -> Any:
    """CUBIC: our own flow, whose receiver knows its sender and takes no other; through the proxy iperf3."""

    def one(name: str) -> Any:
        if name == PROXY:
            return iperf3(cca="cubic", direction="down", duration=DURATION)
        return bulk(cca="cubic", duration=DURATION)

    return axis("path", {name: one(name) for name in _paths("20 ms")})


def recorded() -> None:
    """Capture headers at the sender, before the bottleneck and at the receiver; keep every packet of the
    queue."""
    for place in ("server", "bottleneck-up", "client"):
        capture(at=place, snap="96 B")
    tap("packets")
    sample(tcp_info=None, qdisc=None, link=None)
    repeat(REPETITIONS)
