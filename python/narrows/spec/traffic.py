"""What runs over the link: bulk flows, speed tests, probes, and any other command.

An item's id is the name of the variable that it is assigned to. It says what is to run and when, not how; the
programs and their arguments are in `narrows.plan.traffic`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from narrows.spec import parsers as p
from narrows.spec.axis import Axis
from narrows.spec.base import Choose, SpecObject, option, settle
from narrows.spec.parsers import Wrong
from narrows.units import Duration, Rate, Size

Time = str | Duration | None
DEFAULT_JITTER = "10 ms"
"""Where in this span an item really starts is drawn from the run's seed, so that repetitions differ."""


def _item(value: Any) -> Any:
    if isinstance(value, (Traffic, Axis)):
        return value
    raise Wrong(f"{value!r} is not traffic", "name the variable of another item, such as with_(test)")


class Reference(SpecObject):
    """A moment given by another item. The item itself is not looked into: it is resolved on its own."""

    may_stand_alone = True

    def _accept(self, name: str, value: Any) -> Any:
        return self._parse(name, value) if name == "item" else super()._accept(name, value)

    def _resolve(self, name: str, value: Any, choose: Choose) -> Any:
        return value if name == "item" else super()._resolve(name, value, choose)

    def has_axes(self) -> bool:
        return any(isinstance(value, Axis) for name, value in self.values.items() if name != "item")

    def target(self, choose: Choose) -> Traffic | None:
        """The item of this run, or None if it is absent in it."""
        found = settle(self["item"], choose)
        origin = found.origin if isinstance(found, Traffic) else None
        return origin if isinstance(origin, Traffic) else None


class after(Reference):
    """`start=after(other, "2 s")`: when another item has ended, and some time has passed."""

    positional = ("item", "delay")

    item: Any = option(_item, doc="the other item")
    delay: Time = option(p.duration, default="0 s")


class with_(Reference):
    """`stop=with_(other)`: when another item ends."""

    positional = ("item",)

    item: Any = option(_item, doc="the other item")


def _start(value: Any) -> Any:
    if isinstance(value, after):
        return value
    if isinstance(value, with_):
        raise Wrong("with_() is for stop", 'start=after(other, "0 s") starts when another item has ended')
    return p.duration(value)


def _stop(value: Any) -> Any:
    if value is None or isinstance(value, with_):
        return value
    if isinstance(value, after):
        raise Wrong("after() is for start", "stop=with_(other) stops when another item ends")
    return p.positive(value)


class Traffic(SpecObject):
    """Base of all items."""

    needs_end: ClassVar[bool] = False
    """True if it would run for ever without stop, duration or the like."""

    id: str | None = option(p.optional(p.identifier), default=None, doc="default: the variable's name")
    start: Time | after = option(_start, default="0 s")
    stop: Time | with_ = option(_stop, default=None)
    start_jitter: Time = option(p.duration, default="0 s")

    def check(self) -> None:
        start, stop = self["start"], self["stop"]
        length = self.values.get("duration")
        if (
            isinstance(start, Duration)
            and isinstance(stop, Duration)
            and stop <= start + self["start_jitter"]
        ):
            spread = f" (and starts up to {self['start_jitter']} later)" if self["start_jitter"] else ""
            self.fail(f"stops at {stop}, but starts at {start}{spread}", "stop must be after start")
        if length is not None and stop is not None:
            self.fail("duration and stop say the same twice", "give one of them")
        if self.needs_end and stop is None and not self.ends_by_itself():
            self.fail("would never end", 'add duration="10 s", stop="20 s" or stop=with_(another item)')

    def ends_by_itself(self) -> bool:
        return self.values.get("duration") is not None


class bulk(Traffic):
    """Long TCP flows that send as much as they can."""

    needs_end = True

    direction: str = option(p.choice("down", "up"), default="down")
    cca: str = option(p.cca, default="cubic")
    flows: int = option(p.count(1, 100_000), default=1)
    duration: Time = option(p.optional(p.positive), default=None)
    bytes: str | Size | None = option(p.optional(p.size), default=None, doc="per flow")
    start_spread: Time = option(p.duration, default="0 s", doc="each flow starts at random within this")
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)
    dscp: str | int = option(p.dscp, default="CS0")
    ecn: bool = option(p.flag, default=False)
    sample: Time = option(p.optional(p.positive), default=None, doc="interval of TCP_INFO of each flow")
    port: int | None = option(p.optional(p.port), default=None)

    def check(self) -> None:
        super().check()
        if self["duration"] is not None and isinstance(self["start"], after):
            self.fail("a duration needs a start that is a time", "use stop=with_(another item), or bytes=…")

    def ends_by_itself(self) -> bool:
        return super().ends_by_itself() or self["bytes"] is not None


class ndt7(Traffic):
    """M-Lab's speed test: download, then upload, 10 s each, over one WebSocket connection each."""

    tests: str | Sequence[str] = option(p.words("download", "upload"), default=("download", "upload"))
    client: str = option(p.choice("narrows", "ndt7-client", "js"), default="narrows")
    server: str = option(p.choice("narrows", "ndt-server"), default="narrows")
    tls: bool = option(p.flag, default=False)
    cca: str | None = option(
        p.optional(p.cca), default=None, doc="None: the server asks for BBR, as NDT7 says"
    )
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)
    port: int | None = option(p.optional(p.port), default=None, doc="default: 80, with TLS 443")
    time_limit: Time = option(p.positive, default="60 s")

    def check(self) -> None:
        super().check()
        if self["cca"] is not None and self["server"] != "narrows":
            self.fail("cca works only with server='narrows'", "the official server has no such option")


class iperf3(Traffic):
    """iperf3, a TCP or UDP test over one or more connections. It takes whole seconds only."""

    needs_end = True

    direction: str = option(p.choice("down", "up", "both"), default="down")
    duration: Time = option(p.optional(p.whole_seconds), default=None)
    omit: Time = option(
        p.whole_seconds, default="0 s", doc="start of the test that is left out of the result"
    )
    flows: int = option(p.count(1, 128), default=1)
    cca: str | None = option(p.optional(p.cca), default=None, doc="None: cubic for TCP")
    bytes: str | Size | None = option(p.optional(p.size), default=None)
    udp_rate: str | Rate | None = option(
        p.optional(p.rate), default=None, doc="UDP at this rate instead of TCP"
    )
    interval: Time = option(p.positive, default="1 s", doc="of its own reports")
    dscp: str | int = option(p.dscp, default="CS0")
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)
    port: int | None = option(p.optional(p.port), default=None, doc="default: 5201 and up")
    time_limit: Time = option(p.optional(p.positive), default=None)

    def check(self) -> None:
        super().check()
        if self["udp_rate"] is not None and self["cca"] is not None:
            self.fail("UDP has no congestion control", "leave out cca or udp_rate")
        if self["bytes"] is not None and self["duration"] is not None:
            self.fail("iperf3 takes bytes or duration, not both", "leave one out")
        if not Duration(100_000_000) <= self["interval"] <= Duration(60_000_000_000):
            self.fail(f"interval: iperf3 reports every 0.1 s to 60 s, not {self['interval']}")

    def ends_by_itself(self) -> bool:
        return super().ends_by_itself() or self["bytes"] is not None


class udp_probe(Traffic):
    """Isochronous UDP probes: one-way and round-trip times."""

    needs_end = True

    interval: Time = option(p.positive, default="10 ms")
    payload: str | Size = option(p.size, default="64 B")
    dscp: str | int = option(p.dscp, default="CS0")
    duration: Time = option(p.optional(p.positive), default=None)
    port: int | None = option(p.optional(p.port), default=None)

    def check(self) -> None:
        super().check()
        _duration_needs_time(self)


class icmp_echo(Traffic):
    """Isochronous ICMP echo requests, as ping's."""

    needs_end = True

    interval: Time = option(p.positive, default="100 ms")
    payload: str | Size = option(p.size, default="56 B")
    dscp: str | int = option(p.dscp, default="CS0")
    duration: Time = option(p.optional(p.positive), default=None)

    def check(self) -> None:
        super().check()
        _duration_needs_time(self)


class command(Traffic):
    """Any program in any node. `@agent` is the agent, `@out` the run's raw directory, `@server` and `@client`
    the addresses of the hosts."""

    positional = ("argv",)

    argv: str | Sequence[str] = option(p.argv)
    node: str = option(p.choice("client", "server", "router", "path"), default="client")
    tool: str = option(p.identifier, default="command", doc="what parses its output")
    env: Mapping[str, str | int] = option(p.text_map, default={})
    background: bool = option(p.flag, default=False, doc="does not keep the run alive")
    ready: str | None = option(
        p.optional(p.text), default=None, doc="address:port it listens on when it is up"
    )
    stop_signal: str = option(p.choice("INT", "TERM", "KILL", "HUP", "QUIT", "USR1", "USR2"), default="INT")
    ok_exits: Sequence[int] = option(
        lambda value: tuple(p.count(0, 255)(each) for each in value), default=(0,)
    )
    time_limit: Time = option(p.positive, default="60 s")

    def check(self) -> None:
        super().check()
        if self["ready"] is not None:
            address = self["ready"].replace("@server", "10.0.2.1").replace("@client", "10.0.0.1")
            try:
                p.tcp_address(address)
            except Wrong as error:
                self.fail(f"ready: {error.message}", 'such as "@server:80"')


def _duration_needs_time(item: Traffic) -> None:
    if item["duration"] is not None and isinstance(item["start"], after):
        item.fail("a duration needs a start that is a time", "use stop=with_(another item)")


def is_traffic(value: Any) -> bool:
    """Whether a module-level object is an item, or an axis of items and None."""
    if isinstance(value, Axis):
        present = [each for each in value.values.values() if each is not None]
        return bool(present) and all(is_traffic(each) for each in present)
    return isinstance(value, Traffic)
