"""A home and its access to the Internet: hosts – home router – ISP – path – server.

The options of a Link are those of the ISP's link, each way: rate, queue, shaper, and the delay, jitter and
loss beyond it. The home router has a queue each way or none, which is what makes a bottleneck local: `egress`
on its WAN interface, `ingress` on an IFB that the WAN interface's arriving packets are redirected to.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from narrows.spec import parsers as p
from narrows.spec.base import SpecObject, instance, option
from narrows.spec.link import Link
from narrows.spec.moving_rate import MovingRate
from narrows.spec.parsers import Wrong
from narrows.spec.shapers import Shaper, htb, no_shaper, own_shaper, tbf
from narrows.tc.qdisc import Qdisc
from narrows.units import Duration, Rate

Time = str | Duration
Speed = str | Rate | None

MOST_HOSTS = 20
WAYS = ("egress", "ingress")
MOST_ADDRESSES = 64


def _interface(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,14}", value):
        raise Wrong(f"{value!r} cannot name an interface", 'at most 15 letters and digits: "ifb4wan"')
    return value


class host(SpecObject):
    """A host at home. Its delay, jitter and loss are those of its own way from the home router, as of Wi-Fi:
    all in the direction down, where they cost TCP nothing but the time."""

    delay: Time = option(p.duration, default="0 s")
    jitter: Time = option(p.duration, default="0 s", doc="uniform, plus or minus; may reorder packets")
    loss: str = option(p.percent, default="0 %")

    def check(self) -> None:
        if self["jitter"] > self["delay"]:
            self.fail(
                f"jitter ({self['jitter']}) is more than the delay ({self['delay']})", "raise the delay"
            )
        if self["loss"] == 100:
            self.fail("loss: of 100 % nothing would ever arrive")


_PLAIN = host()


class home_router(SpecObject):
    """The home router's queues. A queue that shapes itself (CAKE) or is shaped (HTB) to `share` of the ISP's
    rate, unless it is given a rate. A rate that moves is that of an oracle: `ingress_rate=follow(rate)`."""

    egress: Qdisc | None = option(p.optional(instance(Qdisc)), default=None, doc="on the WAN interface")
    ingress: Qdisc | None = option(p.optional(instance(Qdisc)), default=None, doc="on an IFB")
    share: str = option(p.percent, default="95 %", doc="of the ISP's rate")
    egress_rate: Speed = option(p.optional(p.link_rate), default=None, doc="default: share of the ISP's")
    ingress_rate: Speed = option(p.optional(p.link_rate), default=None)
    egress_shaper: Shaper | None = option(p.optional(instance(Shaper)), default=None)
    ingress_shaper: Shaper | None = option(p.optional(instance(Shaper)), default=None)
    ifb: str | None = option(p.optional(_interface), default=None, doc="default: ifb4 and the WAN interface")
    nat: bool = option(p.flag, default=False, doc="masquerade what leaves by the WAN interface (nftables)")

    def check(self) -> None:
        if not self["share"]:
            self.fail("share: of 0 % nothing would ever be sent", '"95 %"')
        for way in WAYS:
            queue, shaper, rate = self[way], self[f"{way}_shaper"], self[f"{way}_rate"]
            if queue is None:
                for name in (f"{way}_shaper", f"{way}_rate"):
                    if name in self.given:
                        self.fail(f"{name} is given, but there is no {way} queue", f"add {way}=cake()")
                continue
            if isinstance(shaper, tbf):
                shaper.check_holds_nothing(queue.label())
            if isinstance(rate, MovingRate) and not self._can_move(shaper):
                self.fail(f"{way}_rate moves, which only CAKE by itself and HTB can follow", f"{way}=cake()")
            if isinstance(shaper, own_shaper) and not queue.can_shape:
                self.fail(f"{queue.label()} cannot shape by itself", f"use {way}_shaper=htb(), or cake()")
            if isinstance(shaper, no_shaper) and rate is not None:
                self.fail(f"{way}_rate is given, but nothing shapes", f"leave {way}_shaper out")
            if rate is not None and queue.can_shape and queue.values.get("bandwidth") is not None:
                self.fail(
                    f"{way}_rate and {queue.label()}'s bandwidth say the same twice", "give one of them"
                )
        own = [
            self[f"{way}_rate"] or self[way].values.get("bandwidth") for way in WAYS if self[way] is not None
        ]
        if "share" in self.given and all(own):
            self.fail(
                "share would never act: " + ("each queue has a rate" if own else "there is no queue"),
                "leave share out",
            )
        if "ifb" in self.given and self["ingress"] is None:
            self.fail("ifb is given, but there is no ingress queue", "add ingress=cake(ingress=True)")

    @staticmethod
    def _can_move(shaper: Shaper | None) -> bool:
        return shaper is None or isinstance(shaper, htb | own_shaper)

    def rate(self, way: str, isp: Rate) -> Rate:
        """What the queue of a way ("egress", "ingress") is shaped to."""
        given: Rate | None = self[f"{way}_rate"]
        return isp.scaled(self["share"] / 100) if given is None else given


def _hosts(value: Any) -> Any:
    if isinstance(value, host):
        return (value,)
    if isinstance(value, int) and not isinstance(value, bool):
        return p.count(1, MOST_HOSTS)(value)
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise Wrong(f"{value!r} are no hosts", 'hosts=3, or hosts=[host(), host(delay="5 ms")]')
    if len(value) > MOST_HOSTS:
        raise Wrong(f"{len(value)} hosts", f"at most {MOST_HOSTS}")
    one = instance(host)
    return tuple(one(each) for each in value)


class Home(Link):
    """One home behind one ISP. Hosts are the nodes client, or client1, client2, …; then home, isp, path and
    server."""

    hosts: int | Sequence[host] = option(_hosts, default=1, doc="how many, or what each is like")
    router: home_router = option(instance(home_router), default=home_router())
    server_addresses: int = option(
        p.count(1, MOST_ADDRESSES), default=1, doc="the first is .1 of its network, the others .11, .12, …"
    )

    def members(self) -> tuple[host, ...]:
        """The hosts of one run."""
        found = self["hosts"]
        return (_PLAIN,) * found if isinstance(found, int) else found

    def check(self) -> None:
        if "services" in self.given:
            self.fail("services are those of a Link; a Home has hosts, and one server", "hosts=2")
        super().check()

    def rate_acts(self, suffix: str) -> bool:
        way = "egress" if suffix else "ingress"
        router = self["router"]
        return super().rate_acts(suffix) or (router[way] is not None and router[f"{way}_rate"] is None)

    # The hosts are a tuple inside an option, which the base class does not look into.

    def parts(self) -> Iterator[Any]:
        yield from super().parts()
        if isinstance(self["hosts"], tuple):
            yield from self["hosts"]

    def has_axes(self) -> bool:
        found = self["hosts"]
        if isinstance(found, tuple) and any(each.has_axes() for each in found):
            self.fail("an axis inside a host of a list", 'sweep the list: hosts=axis("hosts", {…})')
        return super().has_axes()


__all__ = ["Home", "home_router", "host"]
