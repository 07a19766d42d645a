"""Shaper and queue of one direction of the bottleneck, as `tc` commands.

HTB: root 1:, class 1:11, the queue under it as 110:. TBF: root 1:, the queue under it. A policer is a filter
of a root `prio` of which one band is used, so that its drops are the root's. A qdisc that shapes by itself,
or with nothing that shapes, is the root. The bands of a `prio` have the handles 111:, 112:, …
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from narrows.errors import SpecError
from narrows.headers import ETHERNET_HEADER_BYTES
from narrows.media.schedule import Schedule
from narrows.plan import bucket_limits, wire
from narrows.plan.model import Asked, Counted, DirectionChange, LinkDirection
from narrows.qdiscs.bfifo import bfifo
from narrows.spec.base import SpecObject
from narrows.spec.link import Link
from narrows.spec.shapers import Shaper, htb, no_shaper, own_shaper, policer, tbf
from narrows.tc import limit
from narrows.tc.options import Number, Words, arguments, number, plain
from narrows.tc.qdisc import Qdisc, QueueContext
from narrows.units import Duration, Rate, Size

POLICE_MTU = 2040
"""What act_police passes where tc says no mtu."""

# HTB's round-robin quantum: rate / r2q (10) within these (net/sched/sch_htb.c). No effect with one class.
HTB_R2Q = 10
HTB_QUANTUM_BYTES = (1000, 200_000)

_OWN, _HTB, _NONE = own_shaper(), htb(), no_shaper()
"""The shapers of a link that names none."""


@dataclass(frozen=True)
class DirectionSpec:
    """One direction of the bottleneck, all decided."""

    link: Link
    queue: Qdisc
    shaper: Shaper | None
    rate: Rate
    base_rtt: Duration
    mtu_bytes: int
    medium: Schedule | None = None
    """What serves the queue instead of a shaper."""

    def kind(self) -> Shaper:
        """The shaper; where the experiment names none: the queue itself if it can, else HTB."""
        if self.medium is not None:
            return _NONE
        if self.shaper is not None:
            return self.shaper
        return _OWN if self.queue.can_shape else _HTB

    def shaper_kind(self) -> str | None:
        shaper = self.kind()
        if isinstance(shaper, no_shaper):
            return None
        return self.queue.kind() if isinstance(shaper, own_shaper) else shaper.label()

    def shaped_rate(self) -> Rate | None:
        """What the shaper is set to."""
        shaper = self.kind()
        if isinstance(shaper, no_shaper):
            return None
        bandwidth = self.queue.values.get("bandwidth") if isinstance(shaper, own_shaper) else None
        return bandwidth if isinstance(bandwidth, Rate) else self.rate

    def context(self) -> QueueContext:
        rate = self.shaped_rate() or (self.rate if self.medium is not None else self.link["line_rate"])
        return QueueContext(rate=rate, base_rtt=self.base_rtt, mtu_bytes=self.mtu_bytes)

    def queue_words(self) -> Words:
        """The queue's options, with the rate that it keeps by itself."""
        rate = self.shaped_rate() if isinstance(self.kind(), own_shaper) else None
        return {**self.queue.shaping(rate), **self.queue.words(self.context())}

    def ceil_bps(self) -> int | None:
        ceil = self._ceil()
        return None if ceil is None else ceil.bps

    def _ceil(self) -> Rate | None:
        shaper = self.kind()
        if not isinstance(shaper, htb):
            return None
        if shaper["ceil_factor"] is not None:
            return self.rate.scaled(shaper["ceil_factor"])
        ceil = shaper["ceil"]
        return ceil if isinstance(ceil, Rate) else self.rate

    def burst_bytes(self) -> int | None:
        return self._bucket("burst")

    def cburst_bytes(self) -> int | None:
        return self._bucket("cburst")

    def _bucket(self, name: str) -> int | None:
        shaper = self.kind()
        if name not in shaper.options:
            return None
        if isinstance(shaper, htb) and shaper["burst_per_rate"] is not None:
            sent: Size = self.rate * shaper["burst_per_rate"]
            return sent.bytes
        given = shaper[name]
        return given.bytes if isinstance(given, Size) else None

    def _check_effects(self) -> None:
        """Raise if an option says something that changes no word of `tc`."""
        shaper = self.kind()
        if self.queue.can_shape and not isinstance(shaper, own_shaper):
            bandwidth, remedy = self.queue.values.get("bandwidth"), "leave out one of the two"
            if bandwidth is not None:
                wrong = f"bandwidth={bandwidth} has no effect under the shaper {shaper.label()}"
                self.queue.fail(wrong, remedy)
            if self.queue.values.get("autorate_ingress"):
                wrong = f"autorate_ingress makes a shaper of {self.queue.title}, and {shaper.label()} is one"
                self.queue.fail(wrong, remedy)
        parts: tuple[Qdisc | Shaper, ...] = (self.queue, shaper)
        for part in parts:
            for name in sorted(part.given & set(part.options)):
                default = part.parsed_default(name)
                # Of a queue or a mapping, what is given may say the same as the default in other words.
                plain_value = isinstance(default, str | int | float | Rate | Size | Duration)
                if not plain_value or part[name] == default:
                    continue
                plain = part.with_value(name, default)
                other = (
                    replace(self, queue=plain) if isinstance(plain, Qdisc) else replace(self, shaper=plain)
                )
                if _said(other) == _said(self):
                    part.fail(f"{name}={part[name]} has no effect here", f"leave {name} out")

    def peak_rate_bps(self) -> int | None:
        shaper = self.kind()
        peak = shaper["peakrate"] if isinstance(shaper, tbf) else None
        return peak.bps if isinstance(peak, Rate) else None

    def counted(self) -> Counted | None:
        """What the shaper makes of a packet's length (net/sched: psched_l2t_ns, cake_calc_overhead)."""
        if self.medium is not None:
            return Counted(of="ip", overhead_bytes=self.medium.overhead_bytes, mpu_bytes=0, cells="none")
        shaper = self.kind()
        if isinstance(shaper, (htb, tbf)):
            cells: Any = "none" if shaper["linklayer"] == "ethernet" else "atm"
            mpu_bytes = shaper["mpu"].bytes
            return Counted(of="frame", overhead_bytes=shaper["overhead"], mpu_bytes=mpu_bytes, cells=cells)
        return Counted(**self.queue.counted()) if isinstance(shaper, own_shaper) else None

    def sets_own_rate(self) -> bool:
        return isinstance(self.kind(), own_shaper) and bool(self.queue.values.get("autorate_ingress"))

    def limits(self) -> tuple[int | None, int | None, int | None]:
        """The most that the queue holds: packets, bytes, bytes of memory; None where that is not set."""
        values = self.queue.settled(self.context())
        memory, held = values.get("memory_limit") or values.get("memlimit"), values.get("limit")
        held = held.bytes if isinstance(held, Size) else held
        packets, in_bytes = (None, held) if self.queue.counts_bytes() else (held, None)
        return packets, in_bytes, memory.bytes if isinstance(memory, Size) else None

    def qdiscs(self) -> list[tuple[str, ...]]:
        """The qdiscs that it is made of: kind and options."""
        queue = (self.queue.kind(), *arguments(self.queue_words()))
        if bands := self.queue.queues():
            return [queue, *((band.kind(),) for band in bands)]
        shaper = self.kind()
        if isinstance(shaper, htb):
            return [("htb", "default", "11"), queue]
        if isinstance(shaper, tbf):
            return [("tbf", *arguments(shaper_words(self))), queue]
        return [queue]

    def check(self, blame: SpecObject) -> None:
        """Raise if the shaper cannot pass one full frame, or its rates contradict."""
        shaper = self.kind()
        frame = self.context().frame_bytes
        for name in ("burst", "cburst"):
            size = self._bucket(name)
            if size is not None and size < frame:
                raise SpecError(
                    f"{shaper.label()}: {name} of {size} bytes is less than one frame of {frame} bytes "
                    f"(MTU {self.mtu_bytes} + 14)",
                    where=_line(shaper, blame),
                    remedy=f'at least "{frame} B", or the rate is never reached',
                )
        self._check_effects()
        if isinstance(shaper, (htb, tbf)) and shaper["mpu"].bytes > frame + shaper["overhead"]:
            shaper.fail(
                f"mpu: every packet would count as {shaper['mpu']}, more than a full frame of {frame} bytes",
                f'at most "{frame + shaper["overhead"]} B", or a lower rate',
            )
        ceil = self._ceil()
        if ceil is not None and ceil < self.rate:
            raise SpecError(
                f"htb: ceil ({ceil}) is below the rate ({self.rate})",
                where=_line(shaper, blame),
                remedy="ceil must be at least the rate: use ceil_factor=1.6",
            )
        if isinstance(shaper, tbf) and shaper["peakrate"] is not None and shaper["peakrate"] <= self.rate:
            raise SpecError(
                f"tbf: peakrate ({shaper['peakrate']}) must be above the rate ({self.rate})",
                where=_line(shaper, blame),
            )


def own_queue(shaper: Shaper | None, rate: Rate) -> Qdisc | None:
    """The queue of a TBF that was given a limit or a latency, where the experiment names none: a FIFO in
    bytes, as tc works it out (tc/q_tbf.c, tbf_parse_opt). None: it has none of its own."""
    if not isinstance(shaper, tbf) or (shaper["limit"] is None and shaper["latency"] is None):
        return None
    if shaper["limit"] is not None:
        return bfifo(limit=shaper["limit"])
    held = (rate * shaper["latency"]).bytes + shaper["burst"].bytes
    if shaper["peakrate"] is not None:
        held = min(held, (shaper["peakrate"] * shaper["latency"]).bytes + shaper["mtu"].bytes)
    # More than tc takes is an error of the shaper, and said there.
    return bfifo(limit=Size(held)) if held < 2**32 else None


def _line(shaper: Shaper, blame: SpecObject) -> str:
    """The shaper's own line if the experiment wrote it; else that of what is to blame."""
    return shaper.where if shaper.given else blame.where


def shaper_words(direction: DirectionSpec) -> Words:
    """The shaper's options as tc's words; empty where the queue shapes itself or nothing does. What tc does
    not take is an error of the shaper's line."""
    shaper = direction.kind()
    limit.check(shaper, shaper.values, direction.mtu_bytes)
    ceil = Rate(direction.ceil_bps() or direction.rate.bps)
    bucket_limits.check(shaper, direction.rate, ceil, direction.burst_bytes(), direction.cburst_bytes())
    if isinstance(shaper, htb):
        low, high = HTB_QUANTUM_BYTES
        quantum = shaper["quantum"]
        words = {
            "rate": direction.rate.tc(),
            "ceil": ceil.tc(),
            "burst": str(direction.burst_bytes()),
            "cburst": str(direction.cburst_bytes()),
            "quantum": str(
                min(max(direction.rate.bps // 8 // HTB_R2Q, low), high) if quantum is None else quantum.bytes
            ),
        }
        return {**words, **_link_layer(shaper)}
    if isinstance(shaper, tbf):
        words = {"rate": direction.rate.tc(), "burst": str(direction.burst_bytes())}
        if shaper["limit"] is not None:
            words["limit"] = shaper["limit"].tc()
        else:
            words["latency"] = (shaper["latency"] or bucket_limits.TBF_DEFAULT_LATENCY).tc()
        if shaper["peakrate"] is not None:
            words["peakrate"] = shaper["peakrate"].tc()
            words["mtu"] = shaper["mtu"].tc()
        return {**words, **_link_layer(shaper)}
    if not isinstance(shaper, policer):
        return {}
    words = {"rate": direction.rate.tc(), "burst": str(direction.burst_bytes())}
    frame = direction.context().frame_bytes
    # What is longer than `mtu` is dropped whatever the rate.
    return words if frame <= POLICE_MTU else {**words, "mtu": str(frame)}


def _said(direction: DirectionSpec) -> tuple[object, ...]:
    """Everything that `tc` is told of a direction."""
    return direction.queue_words(), shaper_words(direction), _filters("", "", direction)


def _link_layer(shaper: Shaper) -> Words:
    """What is not the default."""
    names = [name for name in ("overhead", "mpu", "linklayer") if shaper[name] != shaper.parsed_default(name)]
    return {name: plain(shaper[name]) for name in names}


def _class(dev: str) -> tuple[str, ...]:
    return ("dev", dev, "parent", "1:", "classid", "1:11", "htb")


def queue_steps(dev: str, direction: DirectionSpec) -> list[tuple[str, ...]]:
    """The `tc` commands that make shaper and queue on an interface."""
    direction.check(direction.link)
    shaper = direction.kind()
    words = arguments(direction.queue_words())
    queue = (direction.queue.kind(), *(part for word in words for part in word.split(" ")))
    root = ("qdisc", "add", "dev", dev, "root", "handle", "1:")
    if isinstance(shaper, own_shaper | no_shaper):
        return [(*root, *queue), *_filters(dev, "1:", direction)]
    told, parent = arguments(shaper_words(direction)), "1:1"
    if isinstance(shaper, htb):
        parent = "1:11"
        made = [(*root, "htb", "default", "11"), ("class", "add", *_class(dev), *told)]
    elif isinstance(shaper, tbf):
        made = [(*root, "tbf", *told)]
    else:
        police = ("matchall", "action", "police", *told, "conform-exceed", "drop")
        made = [
            (*root, "prio", "bands", "2", "priomap", *["0"] * 16),
            ("filter", "add", "dev", dev, "parent", "1:", "protocol", "all", *police),
        ]
    leaf = ("qdisc", "add", "dev", dev, "parent", parent, "handle", "110:", *queue)
    return [*made, leaf, *_filters(dev, "110:", direction)]


def asked_qdisc(node: str, iface: str, at: str, kind: str, options: dict[str, Number]) -> Asked:
    """A qdisc, of which the kernel is to keep that."""
    return Asked(node=node, iface=iface, what="qdisc", at=at, kind=kind, options=options)


def _kept_of(shaper: Shaper) -> dict[str, Number]:
    """The options of HTB's class and of TBF that do not depend on the link."""
    names = ("overhead", "mpu", "linklayer", "limit", "peakrate", "mtu")
    made = {name: number(shaper[name]) for name in names if shaper.values.get(name) is not None}
    return made | ({"linklayer": "atm"} if made["linklayer"] == "adsl" else {})


def queue_asked(node: str, dev: str, direction: DirectionSpec) -> list[Asked]:
    """What the kernel is to keep of the same."""
    shaper, context = direction.kind(), direction.context()
    rate = direction.shaped_rate() if isinstance(shaper, own_shaper) else None
    is_root = isinstance(shaper, (own_shaper, no_shaper))
    handle = "1:" if is_root else "110:"

    def made(what: Literal["class", "filter"], at: str, kind: str, **options: int | float | str) -> Asked:
        return Asked(node=node, iface=dev, what=what, at=at, kind=kind, options=options)

    options = direction.queue.asked(context, rate)
    found = [asked_qdisc(node, dev, handle, direction.queue.kind(), options)]
    burst = direction.burst_bytes() or 0
    if isinstance(shaper, htb):
        own = _kept_of(shaper)
        ceil, words = direction.ceil_bps() or 0, shaper_words(direction)
        own |= {"ceil": ceil, "burst": burst, "cburst": direction.cburst_bytes() or 0}
        own |= {"quantum": int(words["quantum"])}
        found += [
            asked_qdisc(node, dev, "1:", "htb", {"default": 0x11}),
            made("class", "1:11", "htb", rate=direction.rate.bps, **own),
        ]
    elif isinstance(shaper, tbf):
        own = _kept_of(shaper)
        if shaper["limit"] is None:
            latency = shaper["latency"] or bucket_limits.TBF_DEFAULT_LATENCY
            own["limit"] = (direction.rate * latency).bytes + burst
        # The kernel keeps the bucket as the time of so many bytes as it counts them (psched_l2t_ns).
        counted = direction.counted()
        assert counted is not None
        bucket = wire.counted_bytes(counted, burst - ETHERNET_HEADER_BYTES)
        own |= {"burst": bucket, "rate": direction.rate.bps}
        found.append(asked_qdisc(node, dev, "1:", "tbf", own))
    elif isinstance(shaper, policer):
        found.append(asked_qdisc(node, dev, "1:", "prio", {"bands": 2, "priomap": 0}))
        mtu = int(shaper_words(direction).get("mtu", POLICE_MTU))
        found.append(made("filter", "1:", "matchall", rate=direction.rate.bps, burst=burst, mtu=mtu))
    for band, inner in enumerate(direction.queue.queues(), 1):
        own = inner.asked(context, None)
        found.append(asked_qdisc(node, dev, f"{110 + band}:", inner.kind(), own))
    found += [
        made("filter", handle, "flower", ip_tos=tos, classid=f"{handle}{to}")
        for tos, to in direction.queue.classes()
    ]
    return found


def _filters(dev: str, handle: str, direction: DirectionSpec) -> list[tuple[str, ...]]:
    """What a queue needs beside itself: its bands, and which code points go where."""
    filters: list[tuple[str, ...]] = []
    for band, inner in enumerate(direction.queue.queues(), 1):
        words = arguments(inner.words(direction.context()))
        parent = ("parent", f"{handle}{band}", "handle", f"{110 + band}:")
        filters.append(("qdisc", "add", "dev", dev, *parent, inner.kind(), *words))
    for tos, to in direction.queue.classes():
        match = ("protocol", "ip", "flower", "ip_tos", tos)
        filters.append(("filter", "add", "dev", dev, "parent", handle, *match, "classid", f"{handle}{to}"))
    return filters


def rate_change(
    dev: str, direction: DirectionSpec, where: SpecObject, first: DirectionSpec, index: str
) -> tuple[str, ...]:
    """The `tc` command that gives a running bottleneck another rate; `first` is what it was set up as,
    `index` the number of a policer: the kernel counts those of a node from 1, in the order of the set-up."""
    direction.check(where)
    shaper = direction.kind()
    if isinstance(shaper, htb):
        return ("class", "change", *_class(dev), *arguments(shaper_words(direction)))
    if isinstance(shaper, tbf):
        # tbf_change makes its limit that of a FIFO inside too (fifo_set_limit), in bytes or in packets
        # as the FIFO counts: the queue would be another one without its own number. tbf itself ignores it.
        inner = first.queue_words().get("limit") if first.queue.is_fifo else None
        words = shaper_words(direction)
        if inner is not None:
            words = {name: word for name, word in words.items() if name != "latency"} | {"limit": inner}
        return ("qdisc", "change", "dev", dev, "root", "handle", "1:", "tbf", *arguments(words))
    if isinstance(shaper, own_shaper):
        rate = ("bandwidth", direction.rate.tc())
        return ("qdisc", "change", "dev", dev, "root", "handle", "1:", direction.queue.kind(), *rate)
    if isinstance(shaper, policer):
        # Filters cannot be changed in place; the bucket is full again, as where a provider sets another rate.
        police = ("police", *arguments(shaper_words(direction)), "conform-exceed", "drop", "index", index)
        return ("actions", "change", "action", *police)
    return where.fail("nothing shapes this link, so its rate cannot change", "use a shaper, such as htb()")


def summarised(
    direction: DirectionSpec, varying: Mapping[str, Any], changes: tuple[DirectionChange, ...] = ()
) -> LinkDirection:
    """What the later parts need to know of a direction; `varying` is what a change can change."""
    packets, in_bytes, memory = direction.limits()
    return LinkDirection(
        queue=direction.queue.label(),
        queue_options=direction.queue_words(),
        shaper=direction.shaper_kind(),
        shaper_options=shaper_words(direction),
        **varying,
        peak_rate_bps=direction.peak_rate_bps(),
        counted=direction.counted(),
        sets_own_rate=direction.sets_own_rate(),
        limit_packets=packets,
        limit_bytes=in_bytes,
        memory_limit_bytes=memory,
        splits_super_packets=direction.queue.splits_super_packets(),
        changes=changes,
    )


def buckets(direction: DirectionSpec) -> dict[str, Any]:
    """Rate and buckets of a direction, which a change can change."""
    rate = direction.shaped_rate()
    return {
        "rate_bps": None if rate is None else rate.bps,
        "ceil_bps": direction.ceil_bps(),
        "burst_bytes": direction.burst_bytes(),
        "cburst_bytes": direction.cburst_bytes(),
    }
