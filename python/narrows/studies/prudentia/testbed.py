"""What the experiments share: services that stand for the thesis' (README.md), links, times.

Every trial is one run: two services, each with a client and a server of its own, 50 ms apart, behind one
drop-tail queue in packets. The axis `length` is how long they run; rates are of its middle three fifths
(`narrows.runs.settled`), as the thesis drops the first and the last two of ten minutes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from narrows.spec import Link, axis, bulk, call, download, page, pairs, pfifo, sample, tap, video

LENGTHS = ("30s", "60s", "180s", "600s")
"""Labels of the axis `length`; the thesis' is the last. The shortest is for calls, which cost most."""
QUEUES = {"8Mbit": 128, "50Mbit": 1024}
"""Packets of the drop-tail queue at each rate: the power of two nearest to 4 × BDP."""
TEN = ("bbr", "cubic", "reno", "download", "capped", "batches", "dash", "hls", "shaka", "five")
CALLS = ("call_1500k", "call_2600k")
PROGRAMS = ("call_vp9", "call_aiortc", "call_livekit")
"""Calls of three programs, one way: a browser's directly, aiortc's, a browser's through LiveKit."""
PAGES = ("text", "domains", "pictures")
FLOWS = {"two": 2, "four": 4, "five": 5, "eight": 8}
"""BBR flows without any barrier."""
RIVALS = ("bbr", "cubic", "reno", "batches", "dash")
"""What pages and calls meet."""
PAGE_STARTS, PAGES_LAST = "30 s", "490 s"
"""The rival is there first; ten loads, 45 s apart, come after."""


def lengths() -> Any:
    """The axis `length`, where an item's stop stands."""
    return axis("length", {label: f"{label.removesuffix('s')} s" for label in LENGTHS})


def services(names: Sequence[str], stop: Any = None) -> Mapping[str, Any]:
    """Items by the names of the services; a page has its own end."""
    end = lengths() if stop is None and not set(names) <= set(PAGES) else stop
    bulks: dict[str, dict[str, Any]] = {
        **{cca: {"cca": cca} for cca in ("bbr", "cubic", "reno")},
        **{word: {"cca": "bbr", "flows": flows} for word, flows in FLOWS.items()},
    }
    return {name: bulk(**bulks[name], stop=end) if name in bulks else _service(name, end) for name in names}


def meeting(first: Sequence[str], second: Sequence[str]) -> Any:
    """Each of the first beside each of the second, and each of all alone."""
    every = services(tuple(dict.fromkeys((*first, *second))))
    return pairs(*({name: every[name] for name in names} for names in (first, second)))


def _service(name: str, end: Any) -> Any:
    """The item of that name; only what is asked for is made."""
    if name in PAGES:
        return page(kind=name, cca="bbr", start=PAGE_STARTS)
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        "download": (download, {"cca": "bbr"}),
        "capped": (download, {"cca": "cubic", "server_rate": "45 Mbit/s"}),
        "batches": (download, {"cca": "bbr", "connections": 5, "chunk": "1 MB", "batches": True}),
        "dash": (video, {"player": "dash.js", "top": "13 Mbit/s", "cca": "bbr"}),
        "hls": (video, {"player": "hls.js", "top": "14 Mbit/s", "flows": 2, "cca": "bbr"}),
        "shaka": (video, {"player": "shaka", "top": "8 Mbit/s", "flows": 4, "cca": "reno"}),
        "call_1500k": (call, {"most": "1.5 Mbit/s"}),
        "call_2600k": (call, {"most": "2.6 Mbit/s"}),
        "call_vp9": (call, {"codec": "VP9", "sends": "down"}),
        "call_aiortc": (call, {"program": "aiortc", "sends": "down"}),
        "call_livekit": (call, {"through": "livekit", "sends": "down"}),
    }
    kind, options = kinds[name]
    return kind(**options, stop=end)


def links(queue: int = 1, rates: Mapping[str, int] = QUEUES) -> Any:
    """The axis `rate` of links, with so many times the usual queue."""
    return axis("rate", {rate: _link(rate, queue * packets) for rate, packets in rates.items()})


def _link(rate: str, packets: int) -> Link:
    number = rate.removesuffix("Mbit")
    return Link(rate=f"{number} Mbit/s", base_rtt="50 ms", queue=pfifo(limit=packets), services=2)


def recorded() -> None:
    """What is kept of each packet, and the sockets' CCA now and then."""
    tap(detail="summary")
    sample(tcp_info="5 s", qdisc=None, link=None)
