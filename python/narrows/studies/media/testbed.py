"""What the test cases of RFC 8867 share: programs, links, queues, and how long a case takes.

Each case is one run. Media go one way, downstream, at 1.5 Mbit/s at most (its section 5); every flow has a
client and a server of its own, 100 ms of round trip apart, behind one queue of 300 ms at the reference
capacity.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from narrows.spec import Link, axis, bfifo, bulk, cake, call, dualpi2, fq_codel, repeat, tap

PACES = {"rfc": 1.0, "quarter": 0.25}
"""Factors of the times of a case: as the RFC has them, and a quarter of them for a first look."""
PROGRAMS: Mapping[str, Mapping[str, Any]] = {
    "chromium": {"codec": "VP9"},
    "aiortc": {"program": "aiortc"},
    "livekit": {"through": "livekit"},
}
MOST = "1.5 Mbit/s"
MOST_BPS = 1_500_000
QUEUE_S = 0.3
MEDIA = "media"
"""Items of media are media1, media2, …"""
Steps = Mapping[float, float]
"""Mbit/s from each second on."""


def at(second: float) -> Any:
    """The axis `pace`: a time of a case."""
    return axis("pace", {label: f"{second * factor:g} s" for label, factor in PACES.items()})


def link(steps: Steps, *, reference: float, services: int, up: Steps | None = None) -> Any:
    """The axis `pace` of links whose rate follows the steps. `reference`: Mbit/s, which sizes the queue."""
    return axis(
        "pace", {label: _link(steps, factor, reference, services, up) for label, factor in PACES.items()}
    )


def _link(steps: Steps, factor: float, reference: float, services: int, up: Steps | None) -> Link:
    first = steps[0.0]
    made = Link(
        rate=f"{first:g} Mbit/s",
        rate_up=f"{(up or {0.0: 10.0})[0.0]:g} Mbit/s",
        base_rtt="100 ms",
        queue=axis(
            "queue",
            {
                "droptail": bfifo(limit=f"{round(reference * 1e6 / 8 * QUEUE_S)} B"),
                "fq_codel": fq_codel(),
                "cake": cake(),
                "dualpi2": dualpi2(),
            },
        ),
        services=services,
    )
    for rates, name in ((steps, "rate"), (up or {}, "rate_up")):
        for second, mbps in rates.items():
            if second:
                made.at(f"{second * factor:g} s", **{name: f"{mbps:g} Mbit/s"})
    return made


def media(host: int, *, stop: float, start: float = 0.0, **options: Any) -> Any:
    """The axis `program`: one flow of media."""
    given = {"most": MOST, "sends": "down", **options}
    return axis(
        "program",
        {
            name: call(**program, **given, start=at(start), stop=at(stop), host=host)
            for name, program in PROGRAMS.items()
        },
    )


def short_transfers(count: int, host: int, seconds: Sequence[float]) -> dict[str, Any]:
    """Short TCP flows of 40 KB at these times."""
    return {
        f"short{n}": bulk(cca="cubic", bytes="40 KB", start=at(second), host=host)
        for n, second in enumerate(seconds[:count], start=1)
    }


def recorded() -> None:
    """What is kept of each packet, and how often a condition is made."""
    tap(detail="summary")
    repeat(1)
