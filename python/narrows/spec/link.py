"""The link of an experiment: its rate, shaper, queue, delay and loss, each way, and how they change.

"down" is from server to client. An option without suffix holds for both directions unless `…_up` is given.
The delay is on the path between router and server, never on a host, because TCP would see it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from narrows.qdiscs.pfifo import pfifo
from narrows.spec import beside_a_medium
from narrows.spec import parsers as p
from narrows.spec.axis import Axis
from narrows.spec.base import Choose, SpecObject, instance, option
from narrows.spec.media.base import Medium
from narrows.spec.moving_rate import MovingRate
from narrows.spec.parsers import Wrong
from narrows.spec.shapers import Shaper, htb, no_shaper, own_shaper, tbf
from narrows.tc.qdisc import Qdisc
from narrows.units import Duration, Rate

Time = str | Duration | None
Speed = str | Rate | None

MOST_SERVICES = 10
UNLIMITED = Rate(10**10)
DEFAULT_BASE_RTT = "1 ms"
ROLES = ("client", "home", "router", "path", "server", "all")
OFFLOADS = ("tso", "gso", "gro", "sg", "tx", "rx", "tx-udp-segmentation")


def _sysctls(value: Any) -> dict[str, dict[str, str]]:
    if not isinstance(value, Mapping):
        raise Wrong(f"{value!r} is not a mapping", '{"server": {"net.ipv4.tcp_wmem": "4096 16384 8388608"}}')
    for role in value:
        if role not in ROLES:
            raise Wrong(
                f"{role!r} is no role of a node",
                f"one of {', '.join(ROLES)}; a Dumbbell's senders are server and its receiver is client",
            )
    return {role: p.text_map(settings) for role, settings in value.items()}


def _offloads(value: Any) -> dict[str, bool]:
    if not isinstance(value, Mapping):
        raise Wrong(f"{value!r} is not a mapping", '{"tso": True}')
    for name, on in value.items():
        if name not in OFFLOADS:
            raise Wrong(f"unknown offload {name!r}", f"one of {', '.join(OFFLOADS)}")
        p.flag(on)
    return dict(value)


class Change(SpecObject):
    """What `link.at(time, …)` changes. Everything not named stays as it is."""

    positional = ("time",)
    may_stand_alone = True

    time: Time = option(p.positive)
    rate: Speed = option(p.optional(p.rate), default=None)
    rate_up: Speed = option(p.optional(p.rate), default=None)
    base_rtt: Time = option(p.optional(p.positive), default=None)
    delay_down: Time = option(p.optional(p.duration), default=None)
    delay_up: Time = option(p.optional(p.duration), default=None)
    jitter: Time = option(p.optional(p.duration), default=None)
    jitter_up: Time = option(p.optional(p.duration), default=None)
    loss: str | None = option(p.optional(p.percent), default=None)
    loss_up: str | None = option(p.optional(p.percent), default=None)

    def check(self) -> None:
        if not self.given - {"time"}:
            self.fail("nothing changes", 'link.at("40 s", rate="10 Mbit/s")')
        if self["base_rtt"] is not None and self.given & {"delay_down", "delay_up"}:
            self.fail("base_rtt and one-way delays say the same twice", "give base_rtt, or both delays")


class Link(SpecObject):
    """The path from client to server with its bottleneck."""

    rate: Speed = option(
        p.optional(p.link_rate),
        default=None,
        doc='"100 Mbit/s", or one that moves: trace("drive.down"); none with no_shaper()',
    )
    rate_up: Speed = option(p.optional(p.link_rate), default=None)
    queue: Qdisc = option(instance(Qdisc), default=pfifo())
    queue_up: Qdisc | None = option(p.optional(instance(Qdisc)), default=None)
    shaper: Shaper | None = option(
        p.optional(instance(Shaper)), default=None, doc="default: htb(), or cake by itself"
    )
    shaper_up: Shaper | None = option(p.optional(instance(Shaper)), default=None)
    medium: Medium | None = option(
        p.optional(instance(Medium)),
        default=None,
        doc="instead of rate and shaper: opportunities(…), wifi(…)",
    )
    medium_up: Medium | None = option(
        p.optional(instance(Medium)), default=None, doc="default: medium, unless there is a rate_up"
    )
    base_rtt: Time = option(
        p.optional(p.positive), default=DEFAULT_BASE_RTT, doc="half of it each way; None: no delay is added"
    )
    delay_down: Time = option(p.optional(p.duration), default=None)
    delay_up: Time = option(p.optional(p.duration), default=None)
    jitter: Time = option(p.duration, default="0 s", doc="uniform, plus or minus; may reorder packets")
    jitter_up: Time = option(p.optional(p.duration), default=None)
    keep_order: bool = option(p.flag, default=False, doc="of jitter: packets wait for those before them")
    loss: str = option(p.percent, default="0 %", doc="random, on the path beyond the bottleneck")
    loss_up: str | None = option(p.optional(p.percent), default=None)
    loss_burst: float = option(
        p.number(1, 1000), default=1, doc="packets that are lost in a row, on average; 1: independently"
    )
    duplicate: str = option(p.percent, default="0 %", doc="of packets, on the path, each way")
    reorder: str = option(p.percent, default="0 %", doc="of packets that pass the path without its delay")
    line_rate: Speed = option(p.optional(p.rate), default=None, doc="rate of the edge links; None: unlimited")
    mtu: int = option(p.count(576, 9000), default=1500, doc="bytes of an IP packet")
    offloads: Mapping[str, bool] = option(_offloads, default={}, doc="segmentation is off unless asked for")
    sysctls: Mapping[str, Mapping[str, str | int]] = option(_sysctls, default={}, doc="by role of the node")

    host_queue: Qdisc | None = option(
        p.optional(instance(Qdisc)), default=None, doc="on every host's interface; SO_TXTIME needs fq()"
    )
    services: int = option(
        p.count(1, MOST_SERVICES), default=1, doc="how many have a client and a server of their own"
    )

    changes: tuple[Change, ...] = ()

    def at(self, time: Time, **changes: Any) -> None:
        """Change the link at a time of the run: `link.at("40 s", rate="10 Mbit/s")`."""
        origin = self.origin
        assert isinstance(origin, Link)
        origin.changes = (*origin.changes, Change(time=time, **changes))

    def parts(self) -> Iterator[Any]:
        yield from super().parts()
        yield from self.changes

    def has_axes(self) -> bool:
        return super().has_axes() or any(change.has_axes() for change in self.changes)

    def is_settled(self) -> bool:
        return False  # changes come after it was made

    def resolve(self, choose: Choose) -> "Link":
        resolved = super().resolve(choose)
        resolved.changes = tuple(
            sorted((c.resolve(choose) for c in self.changes), key=lambda change: change["time"])
        )
        return resolved

    def check(self) -> None:
        beside_a_medium.check(self)
        self.check_rate()
        base, down, up = self["base_rtt"], self["delay_down"], self["delay_up"]
        if base is None:
            self._check_no_delay()
        elif down is not None and up is not None:
            if "base_rtt" in self.given and down + up != base:
                self.fail(
                    f"delay_down + delay_up is {down + up}, but base_rtt is {base}", "leave base_rtt out"
                )
            if not down + up:
                self.fail("the base RTT would be zero", 'a path has some delay, such as base_rtt="200 us"')
        elif (one := down if down is not None else up) is not None and one > base:
            self.fail(f"a one-way delay of {one} is more than the base RTT of {base}", "raise base_rtt")
        down, up = self.delays()
        for name, jitter, delay in (("jitter", self["jitter"], down), ("jitter_up", self.up("jitter"), up)):
            if jitter > delay:
                self.fail(
                    f"{name} ({jitter}) is more than the one-way delay ({delay})",
                    "packets cannot arrive before they were sent: raise the delay or lower the jitter",
                )
        for name in ("loss", "loss_up"):
            if self[name] == 100:
                self.fail(
                    f"{name}: of 100 % nothing would ever arrive", 'an outage: link.at("5 s", loss="100 %")'
                )
        on = [name for name in ("tso", "gso", "tx-udp-segmentation") if self["offloads"].get(name)]
        for needed in ("sg", "tx"):
            if on and self["offloads"].get(needed) is False:
                self.fail(
                    f"offloads: {on[0]} needs {needed}, which is off", f"{needed}: True, or {on[0]}: False"
                )
        losses = [self["loss"], self.up("loss")]
        if "loss_burst" in self.given and self["loss_burst"] > 1 and not any(losses):
            self.fail("loss_burst is how losses come, and there are none", 'loss="1 %"')
        longest = max(losses) / (100 - max(losses))
        if self["loss_burst"] > 1 and longest / self["loss_burst"] > 1:
            self.fail(f"so much loss has no bursts of only {self['loss_burst']:g}", "a larger loss_burst")
        if self["reorder"] and not min(self.delays()):
            self.fail("reorder: a way without delay has nothing to overtake", 'base_rtt="20 ms"')
        self._check_order()
        for name in ("duplicate", "reorder"):
            if self[name] == 100:
                self.fail(f"{name}: of 100 % there is no order to tell it from", "less than 100 %")
        for suffix, queue in (("", self["queue"]), ("_up", self.up("queue"))):
            if isinstance(self[f"shaper{suffix}"], own_shaper) and not getattr(queue, "can_shape", False):
                self.fail(f"{queue.label()} cannot shape by itself", "use htb() or tbf(), or queue=cake()")
            self._check_moving(suffix, queue)
            self._check_acting(suffix, queue)

    def _check_order(self) -> None:
        """Order is kept where jitter could change it, and is not declared to be otherwise."""
        if not self["keep_order"]:
            return
        changed = any(change.given & {"jitter", "jitter_up"} for change in self.changes)
        if not (self["jitter"] or self.up("jitter") or changed):
            self.fail("keep_order is of jitter, and there is none", 'jitter="4 ms", or leave keep_order out')
        if self["reorder"]:
            self.fail("keep_order and reorder contradict each other", "leave one of them out")

    def _check_acting(self, suffix: str, queue: Qdisc) -> None:
        """The rate, and TBF's own queue, have something to act on."""
        shaper, rate = (self.up("shaper"), self.up("rate")) if suffix else (self["shaper"], self["rate"])
        own = shaper is None or isinstance(shaper, own_shaper)
        if own and queue.can_shape and queue.values.get("bandwidth") is not None:
            self.fail(
                f"the rate would never act beside cake(bandwidth={queue['bandwidth']})",
                f'rate{suffix}="{queue["bandwidth"]}", and no bandwidth',
            )
        if isinstance(shaper, no_shaper) and f"rate{suffix}" in self.given and not self.rate_acts(suffix):
            self.fail(
                f"the rate{suffix} of {rate} would never act, as no_shaper() keeps none",
                f'leave rate{suffix} out; line_rate="{rate}" makes the line narrow',
            )
        if isinstance(shaper, tbf) and self.given & ({"queue", "queue_up"} if suffix else {"queue"}):
            shaper.check_holds_nothing(queue.label())

    def media(self) -> tuple[Medium | None, Medium | None]:
        """What is below IP, down and up; None: a rate."""
        own = self["medium_up"]
        if own is None and "rate_up" not in self.given:
            own = self["medium"]
        return self["medium"], own

    def check_rate(self) -> None:
        """There is a rate, unless nothing would keep one. Then what a transfer may take is reckoned with
        that of the line."""
        if self["rate"] is None and not isinstance(self["shaper"], no_shaper):
            self.fail("rate is missing", 'add rate="100 Mbit/s"')
        if self["rate"] is None:
            self.values["rate"] = self["line_rate"] or UNLIMITED

    def rate_acts(self, suffix: str) -> bool:
        """Whether a rate says something although nothing shapes its way: that of the way down is that of the
        way up too."""
        return not suffix and "rate_up" not in self.given and not isinstance(self.up("shaper"), no_shaper)

    def _check_moving(self, suffix: str, queue: Qdisc) -> None:
        """A rate that moves has a shaper that can be given another rate and counts what it sent."""
        rate = self.up("rate") if suffix else self["rate"]
        if not isinstance(rate, MovingRate):
            return
        for change in self.changes:
            if change.given & {"rate", "rate_up"}:
                change.fail(
                    f"the rate is {rate.called}, which moves by itself", "leave rate out of link.at()"
                )
        shaper = self.up("shaper") if suffix else self["shaper"]
        if shaper is not None and not isinstance(shaper, (htb, own_shaper)):
            self.fail(
                f"{shaper.label()} cannot follow a rate that moves: each change would fill its bucket again",
                "shaper=htb(), or queue=cake()",
            )
        if isinstance(shaper, htb) and (wrong := shaper.given - {"quantum"}):
            self.fail(
                f"htb({min(wrong)}=…) with a rate that moves",
                "leave it out: the bucket is 1600 B, and one frame where a frame takes over 10 ms",
            )

    def _check_no_delay(self) -> None:
        for name in ("delay_down", "delay_up"):
            if self[name] is not None:
                self.fail(f"base_rtt=None adds no delay, but {name} is given", "leave one of them out")
        for queue in (self["queue"], self.up("queue")):
            if any(isinstance(value, p.Bdp) for value in queue.values.values()):
                self.fail("a BDP needs a base RTT", "give base_rtt, or the limit in packets or bytes")

    def up(self, name: str) -> Any:
        """The upstream value of an option: its own, or that of both directions."""
        own = self[f"{name}_up"]
        return self[name] if own is None else own

    def delays(self) -> tuple[Duration, Duration]:
        """One-way delays, down and up."""
        if self["base_rtt"] is None:
            return Duration(0), Duration(0)
        return split_delay(self["base_rtt"], self["delay_down"], self["delay_up"])


def split_delay(base: Duration, down: Duration | None, up: Duration | None) -> tuple[Duration, Duration]:
    """The one-way delays: as given, the rest of the base RTT, or half of it each."""
    if down is not None and up is not None:
        return down, up
    if down is not None:
        return down, base - down
    if up is not None:
        return base - up, up
    half = Duration(base.ns // 2)
    return base - half, half


def is_link(value: Any) -> bool:
    """Whether a module-level object is the experiment's link, or an axis of links."""
    if isinstance(value, Axis):
        return all(is_link(each) for each in value.values.values())
    return isinstance(value, Link)
