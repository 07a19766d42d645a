"""What is recorded beside the traffic, the machine under the kernel, and repetitions.

These may be called without keeping the result: `repeat(10)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from narrows.spec.base import SpecObject, option
from narrows.spec.parsers import Wrong, choice, count, duration, optional, positive, size
from narrows.units import Duration, Size

Time = str | Duration | None


class repeat(SpecObject):
    """Repetitions, which differ by seed: `repeat(10)` makes the axis `seed` with labels 0 to 9."""

    positional = ("n",)
    may_stand_alone = True

    n: int = option(count(1, 1_000_000))
    first: int = option(count(0), default=0, doc="number of the first seed")


def _latency(value: Any) -> tuple[Duration, Duration]:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise Wrong(f"{value!r} is not a range of two times", '("0 us", "5 us")')
    low, high = duration(value[0]), duration(value[1])
    if low > high:
        raise Wrong(f"{low} is more than {high}", "the smaller first")
    return low, high


class machine(SpecObject):
    """The machine under the kernel. With `timer_latency`, timer interrupts arrive late by a seeded, uniform
    amount within the range, as on slow hardware; None is exact."""

    may_stand_alone = True

    memory: str | Size | None = option(
        optional(size), default=None, doc="None: 512 MiB, and for a Dumbbell what its run may need"
    )
    timer_latency: tuple[str, str] | None = option(optional(_latency), default=None)

    def check(self) -> None:
        if self["memory"] is not None and self["memory"] < Size(64 * 2**20):
            self.fail(f"memory: {self['memory']} is too little for the kernel", 'at least "64 MiB"')


class tap(SpecObject):
    """The truth of every packet at the bottleneck: each kept ("packets"), a "summary", "drops", or "off".

    "drops" is for long fast runs: drops and marks one by one, the rest added up per `interval`.
    """

    positional = ("detail",)
    may_stand_alone = True

    detail: str = option(choice("packets", "summary", "drops", "off"), default="packets")
    interval: Time = option(positive, default="10 ms", doc='of the aggregates of "drops"')

    def check(self) -> None:
        ns = self["interval"].ns
        if ns > 10**9 or 10**9 % ns:
            self.fail(f"an interval of {self['interval']} does not divide a second", 'such as "10 ms"')
        if "interval" in self.given and self["detail"] != "drops":
            self.fail(f"{self['detail']} has no interval of its own", 'tap("drops", interval=…)')


class flow_tap(SpecObject):
    """What each bulk sender's TCP did, counted in the kernel: window reductions, losses, marks, RTT, bytes.

    Counters are of the time after `warm_up` until the flows are stopped; `interval` is that of the series.
    """

    may_stand_alone = True

    warm_up: Time = option(duration, default="0 s")
    interval: Time = option(optional(positive), default="1 s")


class sample(SpecObject):
    """How often counters are read; None: never."""

    may_stand_alone = True

    tcp_info: Time = option(optional(positive), default="10 ms")
    qdisc: Time = option(optional(positive), default="100 ms")
    link: Time = option(optional(positive), default="1 s")


class capture(SpecObject):
    """A packet capture (pcapng, nanoseconds) at a host or at the bottleneck's interface of one direction."""

    positional = ("at",)
    may_stand_alone = True

    at: str = option(choice("client", "server", "bottleneck-down", "bottleneck-up"), default="server")
    snap: str | Size = option(size, default="96 B", doc="bytes kept of each packet")
    start: Time = option(duration, default="0 s")
    stop: Time = option(optional(positive), default=None)

    def check(self) -> None:
        if self["stop"] is not None and self["stop"] <= self["start"]:
            self.fail(f"stops at {self['stop']}, but starts at {self['start']}", "stop must be after start")
