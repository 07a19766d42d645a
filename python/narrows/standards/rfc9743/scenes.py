"""The scenes of RFC 9743: small bottlenecks, each with one thing that its section names.

20 Mbit/s and 40 ms are a BDP of 66 packets. Chance stands only where a section asks for it: radio losses,
reordering, persistent losses.
"""

from collections.abc import Mapping
from typing import Any

from narrows.spec import (
    Link,
    axis,
    bfifo,
    bulk,
    codel,
    dualpi2,
    fq_codel,
    lte,
    outage,
    pie,
    udp_probe,
    wifi,
    with_,
)
from narrows.standards.suite import Scene, Who

RATE, RTT = "20 Mbit/s", "40 ms"
SHORT_BYTES, SHORTS = "100 KB", 8
FLOWS = 4
REALTIME = {"interval": "20 ms", "payload": "1000 B"}
"""A media stream of 0.4 Mbit/s that does not adapt."""


def path(queue: Any, **options: Any) -> Link:
    """A bottleneck of 20 Mbit/s and 40 ms, unless said otherwise."""
    return Link(**{"rate": RATE, "base_rtt": RTT, "queue": queue, **options})


def fifo(size: str = "1 BDP") -> Any:
    return bfifo(limit=size)


def buffers(who: Who, *sizes: str, more: tuple[str, ...] = ()) -> Any:
    """The axis `buffer`, in BDP."""
    return who.labels(
        "buffer", {f"{each}BDP": fifo(f"{each} BDP") for each in sizes},
        {f"{each}BDP": fifo(f"{each} BDP") for each in more},
    )  # fmt: skip


def collapse(who: Who) -> Mapping[str, Any]:
    link = path(fifo())
    link.at("10 s", loss=axis("loss", ["60 %", "100 %"]))
    return {"link": link, "flow": who.flow(duration="40 s")}


def tail_drop(who: Who) -> Mapping[str, Any]:
    places = who.pick(
        {"20Mbit_40ms": (RATE, RTT)},
        {"5Mbit_100ms": ("5 Mbit/s", "100 ms"), "100Mbit_20ms": ("100 Mbit/s", "20 ms")},
    )
    rate, rtt = (axis("path", {label: place[n] for label, place in places.items()}) for n in range(2))
    link = path(buffers(who, "0.25", "1", "4"), rate=rate, base_rtt=rtt)
    return {"link": link, "flow": who.flow(duration="20 s")}


def several(who: Who) -> Mapping[str, Any]:
    return {"link": path(buffers(who, "0.5", "2", more=("1",))), "flows": who.flows(FLOWS, 1, stop="30 s")}


def shorts(who: Who, make: Any) -> list[Any]:
    """One each 2 s from 6 s on."""
    return [make(start=f"{6 + 2 * n} s", bytes=SHORT_BYTES) for n in range(SHORTS)]


def short_same(who: Who) -> Mapping[str, Any]:
    return {"link": path(fifo("2 BDP")), "flow": who.flow(duration="24 s"), "short": shorts(who, who.flow)}


def short_beside(who: Who) -> Mapping[str, Any]:
    other = lambda **options: bulk(cca="cubic", **options)  # noqa: E731
    return {"link": path(fifo("2 BDP")), "flow": who.flow(duration="24 s"), "short": shorts(who, other)}


def long_beside(who: Who) -> Mapping[str, Any]:
    return {
        "link": path(fifo("2 BDP")), "flow": bulk(cca="cubic", duration="24 s"), "short": shorts(who, who.flow)
    }  # fmt: skip


def beside(who: Who) -> Mapping[str, Any]:
    return {
        "link": path(buffers(who, "0.5", "2", more=("1", "4"))),
        "flow": who.flow(stop="40 s"),
        "other": axis("other", {each: bulk(cca=each, stop="40 s") for each in ("cubic", "reno")}),
    }


def realtime(who: Who) -> Mapping[str, Any]:
    flow = who.flow(start="2 s", stop="20 s")
    media = udp_probe(**REALTIME, duration="20 s")
    return {"link": path(buffers(who, "1", "4")), "flow": flow, "media": media}


def aqm(who: Who) -> Mapping[str, Any]:
    quick = {"codel": codel(), "fq_codel": fq_codel(), "pie": pie()}
    return {
        "link": path(who.labels("queue", quick, {"dualpi2": dualpi2()})),
        "flows": who.flows(2, stop="20 s"),
    }


def ecn(who: Who) -> Mapping[str, Any]:
    return {"link": path(codel(ecn=True)), "flow": who.flow(duration="20 s", ecn=True)}


def breaker(who: Who) -> Mapping[str, Any]:
    link = path(fifo(), loss=who.labels("loss", {"5%": "5 %"}, {"2%": "2 %", "10%": "10 %"}))
    return {"link": link, "flow": who.flow(duration="30 s")}


def varying(who: Who) -> Mapping[str, Any]:
    link = path(fifo("2 BDP"), line_rate="1 Gbit/s")
    link.at("10 s", base_rtt="100 ms")
    link.at("20 s", base_rtt=RTT)
    return {"link": link, "flow": who.flow(duration="30 s")}


def jitter(who: Who) -> Mapping[str, Any]:
    return {"link": path(fifo("2 BDP"), jitter="8 ms", keep_order=True), "flow": who.flow(duration="20 s")}


def constrained(who: Who) -> Mapping[str, Any]:
    link = Link(rate="100 kbit/s", base_rtt="300 ms", queue=bfifo(limit="15 KB"))
    return {"link": link, "flow": who.flow(duration="60 s")}


def satellite(who: Who) -> Mapping[str, Any]:
    return {"link": path(fifo(), base_rtt="600 ms"), "flow": who.flow(duration="60 s")}


def reorder(who: Who) -> Mapping[str, Any]:
    return {"link": path(fifo(), reorder="5 %"), "flow": who.flow(duration="20 s")}


def onset(who: Who) -> Mapping[str, Any]:
    link = path(bfifo(limit="100 KB"))
    link.at("10 s", rate="4 Mbit/s")
    link.at("20 s", rate=RATE)
    return {"link": link, "flow": who.flow(duration="30 s")}


def reroute(who: Who) -> Mapping[str, Any]:
    link = path(bfifo(limit="100 KB"), line_rate="1 Gbit/s")
    link.at("10 s", rate="40 Mbit/s", base_rtt="80 ms")
    link.at("20 s", rate="10 Mbit/s", base_rtt="20 ms")
    return {"link": link, "flow": who.flow(duration="30 s")}


def broken(who: Who) -> Mapping[str, Any]:
    gaps = outage(RATE, start="8 s", length="1 s", every="10 s")
    return {"link": path(bfifo(limit="100 KB"), rate=gaps), "flow": who.flow(duration="30 s")}


def data_centre(who: Who) -> Mapping[str, Any]:
    link = Link(rate="1 Gbit/s", base_rtt="200 us", queue=bfifo(limit="200 KB"))
    burst = [who.flow(start="1 s", start_jitter="0 s", bytes="500 KB") for _ in range(8)]
    return {"link": link, "flow": who.flow(stop="3 s"), "burst": burst}


def wireless(who: Who) -> Mapping[str, Any]:
    medium = {
        "wifi": wifi(rate="60 Mbit/s", stations=1, failure="5 %"),
        "lte": lte(rate="35 Mbit/s"),
    }
    link = Link(medium=axis("medium", medium), base_rtt=RTT, queue=bfifo(limit="500 KB"))
    return {"link": link, "flow": who.flow(duration="20 s")}


def radio_loss(who: Who) -> Mapping[str, Any]:
    return {"link": path(fifo(), loss="0.5 %", loss_burst=3), "flow": who.flow(duration="20 s")}


SCENES = (
    Scene("collapse", "What is sent when most, or all, packets are lost?", collapse, alone=True),
    Scene("tail_drop", "What does one flow do to a drop-tail queue?", tail_drop),
    Scene("several", "How do several flows of one kind share, and what do they lose?", several),
    Scene("short_same", "What do short flows and a long one of one kind do to each other?", short_same),
    Scene("short_beside", "What do short CUBIC flows and a long flow do to each other?", short_beside),
    Scene("long_beside", "What do short flows and a long CUBIC flow do to each other?", long_beside),
    Scene("beside", "What is left to a CUBIC or Reno flow beside it?", beside),
    Scene("realtime", "What does a media stream beside it meet?", realtime),
    Scene("aqm", "What does it do behind an AQM?", aqm),
    Scene("ecn", "Does it answer marks?", ecn),
    Scene("breaker", "Would a circuit breaker end it?", breaker, alone=True),
    Scene("varying", "Does it use the link when the minimum delay changes?", varying),
    Scene("jitter", "Does it use the link when the delay jitters?", jitter),
    Scene("constrained", "Does it work at 100 kbit/s?", constrained),
    Scene("satellite", "Does it use a link of 600 ms?", satellite),
    Scene("reorder", "Does it use the link when packets come in another order?", reorder),
    Scene("onset", "What does it do when most of the rate goes, and comes back?", onset),
    Scene("reroute", "What does it do when rate and delay change with the path?", reroute),
    Scene("broken", "What does it do when the link goes for a second?", broken),
    Scene("data_centre", "What does it do at 200 µs, where many begin at once?", data_centre),
    Scene("wireless", "Does it use links whose turns come when they do?", wireless),
    Scene("radio_loss", "Does it use the link when 0.5 % is lost in bursts?", radio_loss),
)
