"""The scenes of RFC 9743: small bottlenecks, each with one thing that its section names.

20 Mbit/s and 40 ms are a BDP of 66 packets. Chance stands only where a section asks for it: radio losses,
reordering, persistent losses.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from narrows.spec import Link, axis, bfifo, bulk, codel, dualpi2, fq_codel, lte, outage, pie, udp_probe, wifi
from narrows.standards.suite import Scene, Who, one

RATE, RTT = "20 Mbit/s", "40 ms"
SHORTS, FLOWS, BURST = 8, 4, 8


def fifo(*sizes: str, more: tuple[str, ...] = ()) -> Callable[[Who], Any]:
    """A FIFO of a size, or the axis `buffer` over several, in BDP."""

    def made(who: Who) -> Any:
        quick, rest = ({f"{each}BDP": bfifo(limit=f"{each} BDP") for each in some} for some in (sizes, more))
        return quick[f"{sizes[0]}BDP"] if len(sizes) == 1 else who.labels("buffer", quick, rest)

    return made


def short_buffer(_: Who) -> Any:
    return bfifo(limit="100 KB")


def path(queue: Any, **options: Any) -> Link:
    return Link(**{"rate": RATE, "base_rtt": RTT, "queue": queue} | options)


single = partial(one, rate=RATE, base_rtt=RTT)


def tail_drop(who: Who) -> Mapping[str, Any]:
    quick, more = (
        {"20Mbit_40ms": (RATE, RTT)},
        {"5Mbit_100ms": ("5 Mbit/s", "100 ms"), "100Mbit_20ms": ("100 Mbit/s", "20 ms")},
    )
    places = {**quick, **more} if who.full else quick
    rate, rtt = (axis("path", {label: place[n] for label, place in places.items()}) for n in range(2))
    return {
        "link": path(fifo("0.25", "1", "4")(who), rate=rate, base_rtt=rtt),
        "flow": who.flow(duration="20 s"),
    }


def several(who: Who) -> Mapping[str, Any]:
    return {"link": path(fifo("0.5", "2", more=("1",))(who)), "flows": who.flows(FLOWS, 1, stop="30 s")}


def shorts(long: bool, short: bool) -> Callable[[Who], Mapping[str, Any]]:
    """A flow of 24 s, and one of 100 KB each 2 s from 6 s on: of the contestant, or of CUBIC."""

    def parts(who: Who) -> Mapping[str, Any]:
        cubic = partial(bulk, cca="cubic")
        flow = (who.flow if long else cubic)(duration="24 s")
        make = who.flow if short else cubic
        few = [make(start=f"{6 + 2 * n} s", bytes="100 KB") for n in range(SHORTS)]
        return {"link": path(fifo("2")(who)), "flow": flow, "short": few}

    return parts


def beside(who: Who) -> Mapping[str, Any]:
    other = axis("other", {each: bulk(cca=each, stop="40 s") for each in ("cubic", "reno")})
    return {
        "link": path(fifo("0.5", "2", more=("1", "4"))(who)),
        "flow": who.flow(stop="40 s"),
        "other": other,
    }


def realtime(who: Who) -> Mapping[str, Any]:
    """A media stream of 0.4 Mbit/s, which does not adapt."""
    media = udp_probe(interval="20 ms", payload="1000 B", duration="20 s")
    return {"link": path(fifo("1", "4")(who)), "flow": who.flow(start="2 s", stop="20 s"), "media": media}


def aqm(who: Who) -> Mapping[str, Any]:
    queues = who.labels(
        "queue", {"codel": codel(), "fq_codel": fq_codel(), "pie": pie()}, {"dualpi2": dualpi2()}
    )
    return {"link": path(queues), "flows": who.flows(2, stop="20 s")}


def data_centre(who: Who) -> Mapping[str, Any]:
    link = Link(rate="1 Gbit/s", base_rtt="200 us", queue=bfifo(limit="200 KB"))
    burst = [who.flow(start="1 s", start_jitter="0 s", bytes="500 KB") for _ in range(BURST)]
    return {"link": link, "flow": who.flow(stop="3 s"), "burst": burst}


def wireless(_: Who) -> Any:
    media = {"wifi": wifi(rate="60 Mbit/s", stations=1, failure="5 %"), "lte": lte(rate="35 Mbit/s")}
    return axis("medium", media)


SCENES = (
    single("collapse", "What is sent when most, or all, packets are lost?", 40, queue=fifo("1"),
           at={"10 s": {"loss": lambda who: axis("loss", ["60 %", "100 %"])}}),
    Scene("tail_drop", "What does one flow do to a drop-tail queue?", tail_drop),
    Scene("several", "How do several flows of one kind share, and what do they lose?", several),
    Scene("short_same", "What do short flows and a long one of one kind do to each other?", shorts(True,
          True)),
    Scene("short_beside", "What do short CUBIC flows and a long flow do to each other?", shorts(True, False)),
    Scene("long_beside", "What do short flows and a long CUBIC flow do to each other?", shorts(False, True)),
    Scene("beside", "What is left to a CUBIC or Reno flow beside it?", beside),
    Scene("realtime", "What does a media stream beside it meet?", realtime),
    Scene("aqm", "What does it do behind an AQM?", aqm),
    single("ecn", "Does it answer marks?", 20, queue=lambda who: codel(ecn=True), flow={"ecn": True},
           alone=False),
    single("breaker", "Would a circuit breaker end it?", 30, queue=fifo("1"),
           loss=lambda who: who.labels("loss", {"5%": "5 %"}, {"2%": "2 %", "10%": "10 %"})),
    single("varying", "Does it use the link when the minimum delay changes?", 30, queue=fifo("2"),
           alone=False,
           line_rate="1 Gbit/s", at={"10 s": {"base_rtt": "100 ms"}, "20 s": {"base_rtt": RTT}}),
    single("jitter", "Does it use the link when the delay jitters?", 20, queue=fifo("2"), jitter="8 ms",
           keep_order=True, alone=False),
    one("constrained", "Does it work at 100 kbit/s?", 60, rate="100 kbit/s", base_rtt="300 ms", alone=False,
        queue=lambda who: bfifo(limit="15 KB")),
    one("satellite", "Does it use a link of 600 ms?", 60, rate=RATE, base_rtt="600 ms", queue=fifo("1"),
        alone=False),
    single("reorder", "Does it use the link when packets overtake others?", 20, queue=fifo("1"),
           reorder="5 %", alone=False),
    single("onset", "What does it do when most of the rate goes, and comes back?", 30, queue=short_buffer,
           alone=False,
           at={"10 s": {"rate": "4 Mbit/s"}, "20 s": {"rate": RATE}}),
    single("reroute", "What does it do when rate and delay change with the path?", 30, queue=short_buffer,
           alone=False,
           line_rate="1 Gbit/s", at={"10 s": {"rate": "40 Mbit/s", "base_rtt": "80 ms"},
                                     "20 s": {"rate": "10 Mbit/s", "base_rtt": "20 ms"}}),
    one("broken", "What does it do when the link goes for a second?", 30, base_rtt=RTT, queue=short_buffer,
        alone=False,
        rate=lambda who: outage(RATE, start="8 s", length="1 s", every="10 s")),
    Scene("data_centre", "What does it do at 200 µs, where many begin at once?", data_centre),
    one("wireless", "Does it use links whose turns come when they do?", 20, base_rtt=RTT, medium=wireless,
        alone=False,
        queue=lambda who: bfifo(limit="500 KB")),
    single("radio_loss", "Does it use the link when 0.5 % is lost in bursts?", 20, queue=fifo("1"),
           loss="0.5 %",
           loss_burst=3, alone=False),
)  # fmt: skip
