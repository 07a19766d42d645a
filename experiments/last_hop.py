"""What does a download meet where the last hop is Wi-Fi, LTE, a satellite or a cable modem's way up?

The rate is about the same everywhere; what differs is when packets may leave. A ping of 10 ms shows it idle
and beside the flow, and the table `media` has what became of each packet below the queue.
"""

from narrows.spec import Link, axis, bulk, docsis, fq_codel, lte, ping, repeat, satellite, wifi

MEDIA = {
    "rate": {"rate": "30 Mbit/s"},
    "wifi": {"medium": wifi(rate="60 Mbit/s", stations=1, failure="5 %")},
    "lte": {"medium": lte(rate="35 Mbit/s")},
    "satellite": {"medium": satellite(rate="30 Mbit/s", first="4 s", every="5 s", length="20 s")},
    "docsis": {"rate": "30 Mbit/s", "medium_up": docsis(rate="10 Mbit/s")},
}

link = axis(
    "medium", {name: Link(**each, base_rtt="30 ms", queue=fq_codel()) for name, each in MEDIA.items()}
)
flow = bulk(cca=axis("cca", ["cubic", "bbr"]), start="3 s", duration="10 s")
probe = ping(interval="10 ms", duration="13 s")
repeat(1)
