"""The testbed of Ray et al. (arXiv 2511.19213), shared by this study's experiments. Not one itself.

NDT7 through HTB and one of four queues in a small LAN, a probe beside it, perhaps one CUBIC cross flow from
before the test until its end.
"""

from typing import Any

from narrows.spec import (
    Link,
    axis,
    bulk,
    codel,
    fq_codel,
    htb,
    ndt7,
    pfifo,
    repeat,
    sample,
    sfq,
    tap,
    udp_probe,
    with_,
)

RATES = [f"{rate} Mbit/s" for rate in range(100, 1001, 100)]
BASE_RTT = "500 us"  # a small LAN; the paper added no delay
LINE_RATE = "1 Gbit/s"  # every port of the testbed
CROSS_START = "2 s"  # 5 s before the speed test; before it the path is idle
TEST_START = "7 s"


def bursts() -> dict[str, htb]:
    """Burst shaping: none; of the paper's text; of its listing; and the text's two settings apart."""
    return {
        "off": htb(),  # rate and tc's own burst of about one packet
        "text": htb(ceil_factor=1.6, burst="15 KB", cburst="30 KB"),
        # rate_kbit × 36/1000 "k" of tc, 1024 bytes each
        "listing": htb(ceil_factor=1.6, burst_per_rate="294.912 ms"),
        "ceil_only": htb(ceil_factor=1.6),
        "burst_only": htb(burst="15 KB", cburst="30 KB"),
    }


def lan(rates: list[str], burst: list[str], base_rtts: list[str] | None = None) -> Link:
    """The link, swept over rates, queues, these burst shapings and perhaps base RTTs."""
    return Link(
        rate=axis("rate", rates),
        queue=axis(
            "queue", {"pfifo": pfifo(limit=100), "codel": codel(), "fq_codel": fq_codel(), "sfq": sfq()}
        ),
        shaper=axis("burst", {name: shaper for name, shaper in bursts().items() if name in burst}),
        base_rtt=BASE_RTT if base_rtts is None else axis("base_rtt", base_rtts),
        line_rate=LINE_RATE,
    )


def speed_test() -> tuple[ndt7, udp_probe]:
    """A download, then an upload, 10 s each; and the probe that runs beside it from the start on."""
    test = ndt7(start=TEST_START)
    return test, udp_probe(interval="10 ms", stop=with_(test))


def cross_flow(test: ndt7, *ways: str) -> Any:
    """One CUBIC flow in the direction of each label; `no` is none.

    It has no target rate, and comes from our own sender instead of iperf3's: the same traffic (cross_flow.py)
    at a fraction of the cost. The paper does not say which way it goes; its client starts it, and iperf3's
    client sends, so "up" is the study's choice and "down" is tested beside it.
    """
    return axis("cross", {way: None if way == "no" else flow(test, way) for way in ways})


def flow(test: ndt7, way: str = "up", cca: str = "cubic", **options: Any) -> bulk:
    """A flow from before the test until its end."""
    return bulk(direction=way, cca=cca, start=CROSS_START, stop=with_(test), **options)


def recorded(repetitions: int) -> None:
    """Sums of the tap, counters once a second."""
    tap("summary")
    sample(tcp_info=None, qdisc="1 s", link="1 s")
    repeat(repetitions)
