"""What is recorded beside the traffic, the machine under the kernel, and repetitions.

These may be called without keeping the result: `repeat(10)`.
"""

import re
from collections.abc import Sequence
from typing import Any

from narrows.errors import UnitError
from narrows.spec.base import SpecObject, instance, option
from narrows.spec.parsers import Wrong, choice, count, duration, optional, percent, positive, size
from narrows.units import Duration, Rate, Size

Time = str | Duration | None
PLACES = ("client", "server", "bottleneck-down", "bottleneck-up")
"""What a capture calls interfaces that every link has."""


def statistic(value: Any) -> float:
    """`"median"` or `"p95"` as a quantile."""
    if value == "median":
        return 0.5
    if isinstance(value, str) and (match := re.fullmatch(r"p(\d{1,2}(?:\.\d+)?)", value)):
        quantile = float(match[1]) / 100
        if 0 < quantile < 1:
            return quantile
    raise Wrong(f"{value!r} is no statistic", '"median", "p95", …')


def _bound(value: Any) -> float | Rate | Duration | Size:
    """`"5 %"` as a share of the estimate, or a quantity."""
    if isinstance(value, str) and value.strip().endswith("%"):
        share = percent(value) / 100
        if share <= 0:
            raise Wrong(f"{value!r}: no interval is that narrow", '"5 %"')
        return share
    for kind in (Rate, Duration, Size):
        try:
            return kind.parse(value)
        except UnitError:
            continue
    raise Wrong(f"{value!r} is no bound", '"5 %", "0.5 Mbit/s", "1 ms"')


def figure_name(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Wrong(f"{value!r} is not the name of a figure", '"ndt7_throughput_bps"')
    return value.strip()


class ci(SpecObject):
    """`until=ci("ndt7_throughput_bps", of="median", within="5 %")`: until the confidence interval of that
    statistic of a figure reaches no further than the bound from its estimate. Figures are those of the tables
    `metrics` and `score`; a name may end in `_down` or `_up` instead of having a direction."""

    positional = ("figure",)

    figure: str = option(figure_name)
    of: str = option(statistic, default="median")
    within: str = option(_bound, doc='"5 %" of the estimate, or a quantity')
    direction: str | None = option(optional(choice("down", "up")), default=None)
    source: str | None = option(optional(figure_name), default=None, doc="needed where several have it")
    confidence: str = option(percent, default="95 %")


EITHER = "repeat(10), or repeat(at_least=5, at_most=30, until=ci(…))"


class repeat(SpecObject):
    """Repetitions, which differ by seed: `repeat(10)` makes the axis `seed` with labels 0 to 9.

    `repeat(at_least=5, at_most=30, until=ci(…))` goes on, for each condition by itself, until the rule holds.
    """

    positional = ("n",)
    may_stand_alone = True

    n: int | None = option(optional(count(1, 1_000_000)), default=None)
    first: int = option(count(0), default=0, doc="number of the first seed")
    at_least: int | None = option(optional(count(2, 1_000_000)), default=None)
    at_most: int | None = option(optional(count(2, 1_000_000)), default=None)
    until: ci | None = option(optional(instance(ci)), default=None)

    def check(self) -> None:
        rule = [self[name] for name in ("at_least", "at_most", "until")]
        if self["n"] is not None and any(part is not None for part in rule):
            self.fail("n and a rule are both given", EITHER)
        if self["n"] is None and any(part is None for part in rule):
            self.fail("neither n nor a whole rule", EITHER)
        if self["n"] is None and self["at_least"] > self["at_most"]:
            self.fail("at_least is more than at_most", "at_least=5, at_most=30")

    def most(self) -> int:
        """How many repetitions there can be."""
        most: int = self["at_most"] if self["n"] is None else self["n"]
        return most


def _latency(value: Any) -> tuple[Duration, Duration]:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise Wrong(f"{value!r} is not a range of two times", '("0 us", "5 us")')
    low, high = duration(value[0]), duration(value[1])
    if low > high:
        raise Wrong(f"{low} is more than {high}", "the smaller first")
    return low, high


def _modules(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) and each for each in value):
        raise Wrong(f"{value!r} is not a list of files", '["tcp_mine.ko", "sch_mine.ko limit=100"]')
    for each in value:
        if not each.split()[0].endswith(".ko"):
            raise Wrong(
                f"{each!r} does not name a built module", "a file that ends in .ko, then its parameters"
            )
    return tuple(value)


def _kernel(value: Any) -> str:
    if isinstance(value, str) and value.startswith("tree:") and value != "tree:":
        return value
    if not isinstance(value, str) or not re.fullmatch(r"\d+\.\d+", value):
        raise Wrong(f"{value!r} is no version of Linux", 'such as "6.12", or "tree:../linux"')
    return value


class machine(SpecObject):
    """The kernel, and the machine under it. With `timer_latency`, timer interrupts arrive late by a seeded,
    uniform amount within the range, as on slow hardware; None is exact. `modules` are loaded before the
    set-up."""

    may_stand_alone = True

    memory: str | Size | None = option(
        optional(size), default=None, doc="None: 512 MiB, or what path, queue and flows may need"
    )
    timer_latency: tuple[str, str] | None = option(optional(_latency), default=None)
    modules: Sequence[str] = option(
        _modules, default=(), doc="kernel modules of your own: file beside the experiment, then parameters"
    )

    kernel: str | None = option(
        optional(_kernel),
        default=None,
        doc='which Linux: "6.12", or "tree:DIR" of a source tree; None: the one in use (narrows kernel list)',
    )

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
    interval: Time = option(optional(positive), default=None, doc='of the aggregates of "drops"; None: 10 ms')

    def check(self) -> None:
        if self["interval"] is None:
            return
        ns = self["interval"].ns
        if ns > 10**9 or 10**9 % ns:
            self.fail(f"an interval of {self['interval']} does not divide a second", 'such as "10 ms"')
        if self["detail"] != "drops":
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


def _place(value: Any) -> str:
    """One of some words, or an interface as `node:interface`, which the topology must have."""
    if isinstance(value, str) and re.fullmatch(r"[a-z][a-z0-9]*:[a-z][a-z0-9]*", value):
        return value
    place: str = choice(*PLACES)(value)
    return place


class capture(SpecObject):
    """A packet capture (pcapng, nanoseconds) at a host, at the bottleneck's interface of one direction, or at
    any interface: `"path:eth1"`."""

    positional = ("at",)
    may_stand_alone = True

    at: str = option(_place, default="server", doc='"client", "bottleneck-down", "path:eth1", …')
    snap: str | Size = option(size, default="96 B", doc="bytes kept of each packet")
    start: Time = option(duration, default="0 s")
    stop: Time = option(optional(positive), default=None)

    def check(self) -> None:
        if self["stop"] is not None and self["stop"] <= self["start"]:
            self.fail(f"stops at {self['stop']}, but starts at {self['start']}", "stop must be after start")
