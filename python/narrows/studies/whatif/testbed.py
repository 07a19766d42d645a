"""The worlds of the study: paths and traffic that the fit knows nothing of, and what changes do to them.

Ten kinds take turns; the numbers of each world are drawn from its number alone. A change is what a person
would ask of `narrows whatif` (`asked`), and what it makes of the world (`Arm`)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from narrows import spec
from narrows.whatif.written import Change

NAMES = tuple(f"w{n:03}" for n in range(40))
RATES_MBIT, RTTS_MS, BUFFERS_BDP = (2.0, 300.0), (8.0, 250.0), (0.3, 4.0)
LENGTH_S, MOST_BYTES, LEAST_BYTES = 8.0, 50e6, 2e6
KINDS = ("tail", "aqm", "loss", "policer", "moving", "medium", "cross", "short", "home", "several")
AQMS = (spec.fq_codel, spec.codel, spec.pie, spec.cake, spec.fq_pie, spec.sfq, spec.docsis_pie)
MEDIA = (spec.wifi, spec.lte, spec.satellite, spec.nr)
WAS = "as_it_was"
ARMS = (WAS, "cca", "queue", "rate", "rtt", "sysctl")
LESS = 0.7
MOST_FLOWS, MOST_OTHERS = 4, 6
SNAP = "96 B"


@dataclass(frozen=True)
class World:
    """One path and its traffic, before any change."""

    name: str
    kind: str
    rate_mbit: float
    rtt_ms: float
    queue: Any
    cca: str
    transfers: tuple[tuple[float, int], ...]
    turn: int
    """Which of the kind's own sorts it is: of moving rates, of media."""
    wmem: str
    """The sysctl that bounds its send buffer."""
    up: bool = False
    at_home: bool = False
    """Of a home: the queue is the home router's."""
    more: Mapping[str, Any] = field(default_factory=dict)
    others: tuple[Any, ...] = ()

    @property
    def side(self) -> str:
        """Where the sender is, and the capture."""
        return "client" if self.up else "server"

    def asked(self, base_s: float) -> dict[str, Change]:
        """The changes as `narrows whatif` is asked for them; the base RTT is that which the capture shows."""
        return {
            "cca": Change(cca=self.other_cca),
            "queue": Change(queue="fq_codel" if self._drops_at_end else "pfifo(limit=200)"),
            "rate": Change(rate=f"{LESS:.0%}".replace("%", " %")),
            "rtt": Change(base_rtt=f"{base_s * 1e3 + self.farther_ms:.3f} ms"),
            "sysctl": Change(sysctls=(("net.ipv4.tcp_wmem", self.wmem),)),
        }

    @property
    def other_cca(self) -> str:
        """That to which it is changed."""
        return "bbr" if self.cca != "bbr" else "cubic"

    @property
    def farther_ms(self) -> float:
        """How much farther the other server is."""
        return self.rtt_ms * (1.0 if self.rtt_ms < 60 else 0.5)

    @property
    def _drops_at_end(self) -> bool:
        return self.queue is None or isinstance(self.queue, spec.bfifo)

    def link(self, arm: str) -> spec.Link | spec.Home:
        """The path under a change."""
        rtt_ms = self.rtt_ms + (self.farther_ms if arm == "rtt" else 0.0)
        more = {**self.more, **self._capacity(LESS if arm == "rate" else 1.0), "base_rtt": f"{rtt_ms:.3f} ms"}
        if arm == "sysctl":
            more["sysctls"] = {self.side: {"net.ipv4.tcp_wmem": self.wmem}}
        queue = self.queue
        if arm == "queue":
            queue = spec.fq_codel() if self._drops_at_end else spec.pfifo(limit=200)
        if self.kind == "policer" and arm != "queue":
            more |= {"shaper_up": spec.htb()}
        elif self.at_home:
            more |= {"router": spec.home_router(**{"egress" if self.up else "ingress": queue})}
        else:
            more.pop("shaper", None)
            more |= {"queue": queue, "queue_up": queue if self.up else spec.pfifo()}
        return spec.Home(**more) if self.kind == "home" else spec.Link(**more)

    def _capacity(self, share: float) -> dict[str, Any]:
        rate = f"{self.rate_mbit * share:.3f} Mbit/s"
        if self.kind == "medium":
            return {"medium": MEDIA[self.turn % len(MEDIA)](rate=rate), "rate_up": "100 Mbit/s"}
        if self.kind != "moving":
            return {"rate": rate}
        if self.turn % 3 == 1:
            moving = spec.square(f"{self.rate_mbit * share / 2:.3f} Mbit/s", rate, "6 s")
        else:
            moving = (spec.leo if self.turn % 3 else spec.lte_drive)(rate, seed=self.turn + 1)
        return {"rate": moving, "rate_up": "100 Mbit/s"}

    def flow(self, n: int, arm: str) -> Any:
        """The n-th transfer under a change; None where there are fewer."""
        if n >= len(self.transfers):
            return None
        at, size = self.transfers[n]
        cca = self.other_cca if arm == "cca" else self.cca
        return spec.bulk(
            cca=cca, bytes=f"{size} B", start=f"{at:.2f} s", direction="up" if self.up else "down"
        )


def drawn(n: int) -> World:
    """The n-th world."""
    draw = random.Random(f"narrows whatif world {n}")

    def log(low: float, high: float) -> float:
        return math.exp(draw.uniform(math.log(low), math.log(high)))

    kind, turn = KINDS[n % len(KINDS)], n // len(KINDS)
    rate, rtt = log(*RATES_MBIT), log(*RTTS_MS)
    if kind in ("medium", "moving"):
        rate = min(max(rate, 8.0), 100.0)
    tail = spec.bfifo(limit=f"{max(log(*BUFFERS_BDP) * rate * rtt * 125, 15e3):.0f} B")
    aqm = draw.choice(AQMS)()
    queue = {"tail": tail, "aqm": aqm, "policer": None}.get(kind, tail if draw.random() < 0.6 else aqm)
    size = min(max(rate * 125e3 * LENGTH_S, LEAST_BYTES), MOST_BYTES)
    cca = draw.choice(["cubic", "cubic", "bbr", "reno"])
    wmem = f"4096 16384 {draw.choice([131072, 262144, 524288])}"
    transfers: tuple[tuple[float, int], ...] = ((0.0, int(size)),)
    others: tuple[Any, ...] = ()
    more: dict[str, Any] = {}
    up = at_home = False
    if kind == "loss":
        more = {"loss": f"{log(0.02, 1.0):.3f} %", "loss_up": "0 %"}
    elif kind == "policer":
        more = {"shaper": spec.policer(burst=f"{max(log(0.3, 3) * rate * rtt * 125, 20e3):.0f} B")}
    elif kind == "cross":
        flows, theirs = draw.choice([1, 1, 2, 4]), draw.choice(["cubic", "bbr"])
        others = (spec.bulk(cca=theirs, flows=flows, duration=f"{2 * LENGTH_S} s", host=2),)
    elif kind == "short":
        each = rate * 125e3 * draw.uniform(0.1, 0.5)
        others = tuple(
            spec.bulk(bytes=f"{each:.0f} B", start=f"{k + draw.random():.2f} s", host=2)
            for k in range(MOST_OTHERS)
        )
    elif kind == "home":
        up, at_home = draw.random() < 0.6, draw.random() < 0.5
        more = {"queue": tail, "queue_up": tail} if at_home else {"router": spec.home_router()}
    elif kind == "several":
        transfers = tuple(
            (draw.uniform(0, 4) if k else 0.0, int(size / 4 * draw.uniform(0.5, 1.5)))
            for k in range(MOST_FLOWS)
        )
    if others:
        more = {"services": 2}
    return World(NAMES[n], kind, rate, rtt, queue, cca, transfers, turn, wmem, up, at_home, more, others)
