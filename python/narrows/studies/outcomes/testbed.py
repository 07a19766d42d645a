"""The conditions of the study: homes drawn from what is published of access links, each with what its other
people do.

Capacity, base RTT and buffer of a condition are drawn together from a path profile (`narrows profile`:
quantiles of published measurements, each with its source). What no profile says is drawn here:

- the way up has 10 to 50 % of the rate down, as tariffs of cable, VDSL and fibre have;
- the queue is a FIFO as the profile's in three of five, else FQ-CoDel, CAKE or PIE;
- a third have a medium below the queue: `wifi`, `lte`, and of lines `satellite` or `docsis` (upstream);
- other people do nothing in two of five, else one of them downloads, uploads, watches a video or has a call.

So scores and outcomes both vary. The draw has one seed; a condition's label is its number.

Beside them stand homes that are built for one question: the same share of packets is lost, one at a time in
some and many in a row in the others, which no score that takes percentiles and shares can tell apart.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from narrows.spec import (
    Link,
    axis,
    bfifo,
    bulk,
    cake,
    call,
    docsis,
    fq_codel,
    lte,
    page,
    pie,
    repeat,
    satellite,
    tap,
    udp_probe,
    video,
    wifi,
    with_,
)
from narrows.spec.path_profile import profile

CONDITIONS = 100
SEED = "outcomes 1"
START = "3 s"
"""When a test or a service starts beside what others do."""
OTHERS_START = "1 s"
"""When others start; until then a probe meets the idle path."""
KINDS = {"wired": 45, "wifi": 30, "cellular": 25}
"""Of so many in a hundred homes the last hop is that."""
MBPS = (0.5, 300.0)
"""Between these rates: a guest at more takes minutes."""
OTHERS = {"none": 40, "download": 20, "upload": 20, "video": 10, "call": 10}
QUEUES = {"fifo": 60, "fq_codel": 20, "cake": 10, "pie": 10}


@dataclass(frozen=True)
class Home:
    """A drawn condition."""

    link: Link
    others: str


def label(number: int) -> str:
    """`c07`."""
    return f"c{number:02d}"


def halves() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The conditions that set a threshold, and those that judge it: even and odd numbers."""
    return (
        tuple(label(n) for n in range(0, CONDITIONS, 2)),
        tuple(label(n) for n in range(1, CONDITIONS, 2)),
    )


def _chosen(draw: random.Random, of: Mapping[str, int]) -> str:
    return draw.choices(list(of), list(of.values()))[0]


@cache
def homes() -> dict[str, Home]:
    """Every home that was drawn, by its label."""
    return {label(number): _home(number) for number in range(CONDITIONS)}


BURSTS = {"random": 1, "bursts": 50}
"""How many packets are lost in a row, on average, in homes that differ in nothing else."""
LOST = (0.8, 0.9, 1, 1.1, 1.2)
"""Per cent of packets, each way: a home of each order loses so many."""


@cache
def built() -> dict[str, Home]:
    """Every home that was built, by its label."""
    of: dict[str, Any] = {**EASY, "base_rtt": "60 ms", "services": 2}
    return {
        f"{order}-{lost:g}": Home(Link(**of, loss=f"{lost} %", loss_burst=burst), "none")
        for order, burst in BURSTS.items()
        for lost in LOST
    }


def _home(number: int) -> Home:
    draw = random.Random(f"{SEED} {number}")
    kind, others = _chosen(draw, KINDS), _chosen(draw, OTHERS)
    drawn = profile(f"video-{kind}").draw(f"{SEED} {number}")
    mbps = min(max(drawn["capacity_bps"] / 1e6, MBPS[0]), MBPS[1])
    up_mbps = max(mbps * draw.uniform(0.1, 0.5), MBPS[0])
    options: dict[str, Any] = {"base_rtt": f"{max(drawn['base_rtt_ns'] / 1e6, 1):.1f} ms", "services": 2}
    held_s = max(drawn["peak_queueing_delay_ns"] / 1e9, 0.01)
    fifo = [bfifo(limit=f"{max(rate * 125 * held_s, 16):.0f} KB") for rate in (mbps, up_mbps)]
    queue = _chosen(draw, QUEUES)
    if queue == "fifo":
        options |= {"queue": fifo[0], "queue_up": fifo[1]}
    else:
        options |= {"queue": {"fq_codel": fq_codel, "cake": cake, "pie": pie}[queue]()}
    return Home(Link(**options | _carrier(draw, kind, mbps, up_mbps)), others)


def _carrier(draw: random.Random, kind: str, mbps: float, up_mbps: float) -> dict[str, Any]:
    """What is below the queue: a line of a rate each way, or a medium."""
    line = {"rate": f"{mbps:.1f} Mbit/s", "rate_up": f"{up_mbps:.1f} Mbit/s"}
    if draw.random() > 1 / 3:
        return line
    seed = draw.randrange(1, 1_000)
    if kind == "wifi":
        # Of what a station sends, headers and contention take about half.
        return {"medium": wifi(rate=f"{2 * mbps:.0f} Mbit/s", failure="5 %", seed=seed)}
    if kind == "cellular":
        down, up = (f"{1.15 * rate:.1f} Mbit/s" for rate in (mbps, up_mbps))
        return {"medium": lte(rate=down, rate_up=up, seed=seed)}
    if draw.random() < 0.5:
        return {"medium": satellite(rate=line["rate"], seed=seed)}
    return {"rate": line["rate"], "medium_up": docsis(rate=line["rate_up"])}


LEVELS = {
    "rate": (0.5, 1, 2, 4, 8, 16, 32),
    "rtt": (50, 100, 200, 300, 500, 800),
    "loss": (0.1, 0.3, 1, 3, 10, 20),
}
LEVEL_UNITS = {"rate": "Mbit/s", "rtt": "ms", "loss": "%"}
"""Of an easy path one thing is changed at a time: Mbit/s each way, ms, per cent each way at random."""
EASY: Mapping[str, Any] = {"rate": "100 Mbit/s", "base_rtt": "20 ms", "queue": fq_codel()}


def paths() -> Any:
    """The easy path and those of each level: the axis `path`."""
    changed: Mapping[str, Callable[[float], Mapping[str, str]]] = {
        "rate": lambda level: {"rate": f"{level} Mbit/s"},
        "rtt": lambda level: {"base_rtt": f"{level} ms"},
        "loss": lambda level: {"loss": f"{level} %"},
    }
    made = {f"{of}-{level}": changed[of](level) for of, levels in LEVELS.items() for level in levels}
    return axis("path", {name: Link(**{**EASY, **change}) for name, change in made.items()})


def services(**more: Any) -> Any:
    """What people use: the axis `service`."""
    return axis(
        "service",
        {
            "video": video(start=START, duration="20 s", **more),
            "page": page(start=START, loads=1, every="15 s", **more),
            "call": call(start=START, duration="12 s", **more),
            "game": udp_probe(start=START, duration="20 s", interval="20 ms", payload="120 B", **more),
            "download": bulk(start=START, bytes="10 MB", cca="cubic", **more),
        },
    )


def condition() -> Any:
    """The link of each condition: the axis `home`."""
    return axis("home", {name: home.link for name, home in (homes() | built()).items()})


def others(kind: str, item: Any) -> Any:
    """What others do beside an item, in the conditions where it is of this kind. At their own server."""
    make: Mapping[str, Callable[[], Any]] = {
        "download": lambda: bulk(cca="cubic", start=OTHERS_START, stop=with_(item), host=2),
        "upload": lambda: bulk(cca="cubic", direction="up", start=OTHERS_START, stop=with_(item), host=2),
        "video": lambda: video(start=OTHERS_START, stop=with_(item), host=2),
        "call": lambda: call(start=OTHERS_START, stop=with_(item), host=2),
    }
    return axis(
        "home",
        {name: make[kind]() if home.others == kind else None for name, home in (homes() | built()).items()},
    )


def recorded() -> None:
    """What is kept of each packet, and how often a condition is made."""
    tap(detail="summary")
    repeat(1)
