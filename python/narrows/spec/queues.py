"""Queueing disciplines and all their options, with Linux' own defaults written out.

Only names, types and defaults; how each is said to `tc` is in `narrows.plan.qdiscs`. An option whose default
is None is left out and then absent (as with `ce_threshold`) or the kernel's own. DualPI2's defaults are the
kernel's (RFC 9332), because Debian 12's tc cannot set them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from narrows.spec.base import SpecObject, option
from narrows.spec.parsers import (
    Bdp,
    Wrong,
    choice,
    count,
    dscp,
    flag,
    identifier,
    microseconds,
    number,
    optional,
    percent,
    positive,
    queue_bytes,
    queue_packets,
    rate,
    size,
    size_or_zero,
    whole_milliseconds,
    whole_seconds,
)
from narrows.units import Duration, Rate, Size

Time = str | Duration | None
Bytes = str | Size | None
QueueBytes = str | Size | Bdp | None
QueuePackets = str | int | Bdp | None

MOST_BANDS = 16
"""TCQ_PRIO_BANDS."""


class Qdisc(SpecObject):
    """A queueing discipline at the bottleneck."""

    can_shape: ClassVar[bool] = False

    def kind(self) -> str:
        """What `tc` calls it."""
        return self.label()


def _bands_of(value: Any) -> dict[str, int]:
    if not isinstance(value, Mapping) or not value:
        raise Wrong(f"{value!r} says of no code point where it goes", '{"CS5": 0}')
    for name in value:
        dscp(name)
    return {str(name): count(0, MOST_BANDS - 1)(band) for name, band in value.items()}


def _queues(value: Any) -> tuple[Qdisc, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise Wrong(f"{value!r} is not a list of queues", "bands=[pfifo(limit=100), fq_codel()]")
    for each in value:
        if not isinstance(each, Qdisc) or isinstance(each, prio):
            raise Wrong(f"{each!r} cannot be the queue of a band", "bands=[pfifo(limit=100), fq_codel()]")
        if each.has_axes():
            raise Wrong("an axis inside a band", "sweep the whole queue: queue=axis(…)")
    if len(value) not in (0, *range(2, MOST_BANDS + 1)):
        raise Wrong(f"{len(value)} bands", f"from 2 to {MOST_BANDS}")
    return tuple(value)


def _no_mark(value: Any) -> None:
    if value is not None:
        raise Wrong("no packet here has a firewall's mark, so it would never act", "leave fwmark out")


OVERHEADS = {
    "conservative": (48, "atm", 0),
    "pppoa-vcmux": (10, "atm", 0),
    "pppoa-llc": (14, "atm", 0),
    "pppoe-vcmux": (32, "atm", 0),
    "pppoe-llcsnap": (40, "atm", 0),
    "bridged-vcmux": (24, "atm", 0),
    "bridged-llcsnap": (32, "atm", 0),
    "ipoa-vcmux": (8, "atm", 0),
    "ipoa-llcsnap": (16, "atm", 0),
    "pppoe-ptm": (30, "ptm", 0),
    "bridged-ptm": (22, "ptm", 0),
    "docsis": (18, "noatm", 64),
    "ethernet": (38, "noatm", 84),
}
"""CAKE's words for what a line adds to an IP packet (tc-cake(8)): bytes, cells, the least that is counted."""
RTTS = {
    "datacentre": "100 us",
    "lan": "1 ms",
    "metro": "10 ms",
    "regional": "30 ms",
    "internet": "100 ms",
    "oceanic": "300 ms",
    "satellite": "1 s",
}


def _rtt(value: Any) -> Duration:
    if isinstance(value, str) and value.isalpha():
        return Duration.parse(RTTS[choice(*RTTS)(value)])
    parsed: Duration = microseconds(value)
    return parsed


def _overhead(value: Any) -> int | str:
    overhead: int | str = (choice(*OVERHEADS) if isinstance(value, str) else count(-64, 256))(value)
    return overhead


class pfifo(Qdisc):
    """Drop-tail, counted in packets. Linux takes the interface's txqueuelen, 1000, by default."""

    limit: QueuePackets = option(queue_packets, default=1000)


_BAND = pfifo()


class bfifo(Qdisc):
    """Drop-tail, counted in bytes. Its limit has no useful default."""

    limit: QueueBytes = option(queue_bytes, doc='"100 KB" or "1 BDP"')


class pfifo_head_drop(Qdisc):
    """Drop-head, counted in packets."""

    limit: QueuePackets = option(queue_packets, default=1000)


class pfifo_fast(Qdisc):
    """Three drop-tail bands by priority, txqueuelen (1000) packets each; it has no options."""


class prio(Qdisc):
    """Strict priority: band 0 is served before band 1, and so on. `dscp` says which code points go to which
    band; all others go to the last. Each band is a queue of its own."""

    positional = ("dscp",)

    dscp: Mapping[str, int] = option(_bands_of, doc='{"CS5": 0}')
    bands: Sequence[Qdisc] = option(_queues, default=())

    def check(self) -> None:
        bands = self.queues()
        for name, band in self["dscp"].items():
            if band >= len(bands):
                self.fail(
                    f"dscp: {name} goes to band {band}, and there are {len(bands)}", "bands count from 0"
                )

    def queues(self) -> tuple[Qdisc, ...]:
        """One for each band; two of pfifo() if none were given."""
        given: tuple[Qdisc, ...] = self["bands"]
        return given or (_BAND, _BAND)


class codel(Qdisc):
    """Controlled delay, RFC 8289."""

    limit: QueuePackets = option(queue_packets, default=1000)
    target: Time = option(microseconds, default="5 ms")
    interval: Time = option(microseconds, default="100 ms")
    ecn: bool = option(flag, default=False)
    ce_threshold: Time = option(optional(microseconds), default=None)

    def check(self) -> None:
        _target_below(self, "interval")


class fq_codel(Qdisc):
    """Flow queues with CoDel, RFC 8290."""

    limit: QueuePackets = option(queue_packets, default=10240)
    flows: int = option(count(1, 65536), default=1024)
    target: Time = option(microseconds, default="5 ms")
    interval: Time = option(microseconds, default="100 ms")
    quantum: Bytes = option(optional(size), default=None, doc="default: one frame")
    memory_limit: Bytes = option(size, default="32 MiB")
    drop_batch: int = option(count(), default=64)
    ecn: bool = option(flag, default=True)
    ce_threshold: Time = option(optional(microseconds), default=None)
    ce_threshold_selector: str | None = option(
        optional(choice("0x01/0x03", "0x02/0x03", "0x03/0x03")), default=None
    )

    def check(self) -> None:
        _target_below(self, "interval")
        if self["ce_threshold_selector"] is not None and self["ce_threshold"] is None:
            self.fail(
                "ce_threshold_selector chooses for ce_threshold, and there is none", 'ce_threshold="1 ms"'
            )


class sfq(Qdisc):
    """Stochastic fair queueing; with redflowlimit also RED per flow."""

    limit: QueuePackets = option(queue_packets, default=127)
    perturb: Time = option(whole_seconds, default="0 s", doc="new hash every so often; 0 s: never")
    quantum: Bytes = option(optional(size), default=None, doc="default: one frame")
    depth: int = option(count(1, 127), default=127)
    divisor: int = option(count(1, 65536), default=1024)
    flows: int = option(count(1, 65408), default=127)
    headdrop: bool = option(flag, default=False)
    redflowlimit: Bytes = option(optional(size), default=None)
    min: Bytes = option(optional(size), default=None)
    max: Bytes = option(optional(size), default=None)
    avpkt: Bytes = option(optional(size), default=None)
    burst: int | None = option(optional(count()), default=None)
    probability: str | None = option(optional(percent), default=None)
    ecn: bool = option(flag, default=False)
    harddrop: bool = option(flag, default=False)

    def check(self) -> None:
        divisor = self["divisor"]
        if divisor & (divisor - 1):
            self.fail(f"divisor: {divisor} is not a power of two", "such as 1024")
        red = [n for n in ("min", "max", "avpkt", "burst", "probability") if self[n] is not None]
        red += [n for n in ("ecn", "harddrop") if self[n]]
        if red and self["redflowlimit"] is None:
            self.fail(f"{red[0]} works only with redflowlimit", 'add redflowlimit="100 KB"')
        _needs_ecn(self, "harddrop")


class pie(Qdisc):
    """Proportional integral controller enhanced, RFC 8033."""

    limit: QueuePackets = option(queue_packets, default=1000)
    target: Time = option(microseconds, default="15 ms")
    tupdate: Time = option(microseconds, default="15 ms")
    alpha: int = option(count(0, 32), default=2)
    beta: int = option(count(0, 32), default=20)
    ecn: bool = option(flag, default=False)
    bytemode: bool = option(flag, default=False)
    dq_rate_estimator: bool = option(flag, default=False)


class docsis_pie(Qdisc):
    """PIE with the settings of DOCSIS cable modems, RFC 8034, as near as Linux' PIE comes.

    Deviations: beta is 2.0 Hz, tc's largest, not 2.5; a drop's probability is scaled by the packet's size
    over the MTU, not over 1024 bytes; the first burst that is let through is 150 ms, not 142; delay is
    measured on leaving packets, not predicted from the modem's grants. Linux keeps what is common to both:
    derandomisation, scaling of small probabilities, no drops below half the target.
    """

    limit: QueuePackets = option(queue_packets, default=1000, doc="the modem's buffer")
    target: Time = option(microseconds, default="10 ms")
    tupdate: Time = option(microseconds, default="16 ms")
    alpha: int = option(count(0, 32), default=4, doc="in sixteenths of a hertz: 0.25 Hz")
    beta: int = option(count(0, 32), default=32, doc="2.0 Hz; RFC 8034 has 2.5")
    ecn: bool = option(flag, default=False)
    bytemode: bool = option(flag, default=True)
    dq_rate_estimator: bool = option(flag, default=False)

    def kind(self) -> str:
        return "pie"


class fq_pie(Qdisc):
    """Flow queues with PIE."""

    limit: QueuePackets = option(queue_packets, default=10240)
    flows: int = option(count(1, 65536), default=1024)
    target: Time = option(microseconds, default="15 ms")
    tupdate: Time = option(microseconds, default="15 ms")
    alpha: int = option(count(0, 32), default=2)
    beta: int = option(count(0, 32), default=20)
    quantum: Bytes = option(optional(size), default=None, doc="default: one frame")
    memory_limit: Bytes = option(size, default="32 MiB")
    ecn_prob: str = option(percent, default="10 %")
    ecn: bool = option(flag, default=False)
    bytemode: bool = option(flag, default=False)
    dq_rate_estimator: bool = option(flag, default=False)

    def check(self) -> None:
        if "ecn_prob" in self.given and not self["ecn"]:
            self.fail("ecn_prob is up to which probability packets are marked, and ecn is off", "ecn=True")


class red(Qdisc):
    """Random early detection. min, max and burst default to tc's own rules of thumb from limit and avpkt."""

    limit: QueueBytes = option(queue_bytes, doc='"400 KB" or "1 BDP"')
    min: Bytes = option(optional(size), default=None)
    max: Bytes = option(optional(size), default=None)
    avpkt: Bytes = option(size, default="1000 B")
    burst: int | None = option(optional(count()), default=None)
    probability: str = option(percent, default="2 %")
    bandwidth: str | Rate | None = option(optional(rate), default=None, doc="default: the link's rate")
    adaptive: bool = option(flag, default=False)
    ecn: bool = option(flag, default=False)
    harddrop: bool = option(flag, default=False)
    nodrop: bool = option(flag, default=False)

    def check(self) -> None:
        low, high = self["min"], self["max"]
        if low is not None and high is not None and low >= high:
            self.fail(f"min ({low}) must be below max ({high})")
        for name in ("harddrop", "nodrop"):
            _needs_ecn(self, name)


class choke(Qdisc):
    """CHOKe: RED that compares each arriving packet with one drawn from the queue and drops both if they are
    of one flow. Counted in packets; min, max and burst default to tc's own rules of thumb from limit."""

    limit: int = option(count(), doc="packets; required")
    min: int | None = option(optional(count()), default=None)
    max: int | None = option(optional(count()), default=None)
    burst: int | None = option(optional(count()), default=None)
    probability: str = option(percent, default="2 %")
    bandwidth: str | Rate | None = option(optional(rate), default=None, doc="default: the link's rate")
    ecn: bool = option(flag, default=False)

    def check(self) -> None:
        low, high = self["min"], self["max"]
        if low is not None and high is not None and low >= high:
            self.fail(f"min ({low}) must be below max ({high})")


class sfb(Qdisc):
    """Stochastic fair blue: a marking probability for each of its bins of flows. Where a flow does not react,
    its packets are held to a rate. Always marks what may be marked."""

    limit: QueuePackets = option(queue_packets, default=1000)
    rehash: Time = option(whole_milliseconds, default="600 s")
    db: Time = option(whole_milliseconds, default="60 s", doc="double buffering before a rehash")
    max: int = option(count(), default=25, doc="packets of a bin")
    target: int = option(count(), default=20, doc="packets of a bin")
    increment: str = option(percent, default="0.05 %")
    decrement: str = option(percent, default="0.005 %")
    penalty_rate: int = option(count(), default=10, doc="packets per second")
    penalty_burst: int = option(count(), default=20)

    def check(self) -> None:
        if self["target"] >= self["max"]:
            self.fail(f"target ({self['target']}) must be below max ({self['max']})")


class hhf(Qdisc):
    """Heavy-hitter filter: flows that sent much wait behind the others, in a second drop-head queue."""

    limit: QueuePackets = option(queue_packets, default=1000)
    quantum: Bytes = option(optional(size), default=None, doc="default: one frame")
    hh_limit: int = option(count(), default=2048)
    reset_timeout: Time = option(microseconds, default="40 ms")
    admit_bytes: Bytes = option(size, default="128 KiB")
    evict_timeout: Time = option(microseconds, default="1 s")
    non_hh_weight: int = option(count(), default=2)


class cake(Qdisc):
    """Common applications kept enhanced. Shapes by itself unless the link names a shaper."""

    can_shape = True

    bandwidth: str | Rate | None = option(optional(rate), default=None, doc="default: the link's rate")
    autorate_ingress: bool = option(flag, default=False)
    diffserv: str = option(
        choice("besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"), default="diffserv3"
    )
    flow_isolation: str = option(
        choice(
            *("flowblind", "srchost", "dsthost", "hosts", "flows"),
            *("dual-srchost", "dual-dsthost", "triple-isolate"),
        ),
        default="triple-isolate",
    )
    nat: bool = option(flag, default=False)
    wash: bool = option(flag, default=False)
    split_gso: bool = option(flag, default=True)
    ack_filter: bool = option(flag, default=False)
    ack_filter_aggressive: bool = option(flag, default=False)
    memlimit: Bytes = option(optional(size), default=None)
    fwmark: None = option(_no_mark, default=None)
    rtt: Time = option(
        _rtt, default="100 ms", doc='a time, or CAKE\'s word: "lan", "internet", "satellite", …'
    )
    overhead: int | str | None = option(
        optional(_overhead),
        default=None,
        doc='bytes per packet, or CAKE\'s word: "docsis", "pppoe-ptm", …; default: raw',
    )
    mpu: Bytes = option(optional(size_or_zero), default=None)
    atm: str = option(choice("noatm", "atm", "ptm"), default="noatm")
    ingress: bool = option(flag, default=False)

    def check(self) -> None:
        word = self["overhead"]
        if isinstance(word, str):
            for name in ("atm", "mpu"):
                if name in self.given:
                    self.fail(f"overhead={word!r} and {name} say the same twice", f"leave {name} out")
            bytes_, cells, mpu = OVERHEADS[word]
            self.values |= {"overhead": bytes_, "atm": cells, "mpu": Size(mpu) if mpu else None}
        if self["ack_filter"] and self["ack_filter_aggressive"]:
            self.fail("ack_filter and ack_filter_aggressive exclude each other")


class dualpi2(Qdisc):
    """DualQ coupled AQM for L4S, RFC 9332. Setting an option needs a tc of iproute2 6.17 or newer."""

    limit: QueuePackets = option(optional(queue_packets), default=None)
    memory_limit: Bytes = option(optional(size), default=None)
    target: Time = option(optional(microseconds), default=None)
    tupdate: Time = option(optional(microseconds), default=None)
    alpha: float | None = option(optional(number(0, 256)), default=None)
    beta: float | None = option(optional(number(0, 256)), default=None)
    step_thresh: Time = option(optional(microseconds), default=None)
    min_qlen_step: int | None = option(optional(count(0)), default=None)
    coupling_factor: int | None = option(optional(count(1, 255)), default=None)
    overload: str | None = option(optional(choice("drop", "overflow")), default=None)
    drop_at: str | None = option(optional(choice("enqueue", "dequeue")), default=None)
    c_protection: str | None = option(optional(percent), default=None)
    classic_ecn: bool | None = option(
        optional(flag), default=None, doc="True: every ECN-capable packet uses the L queue"
    )
    split_gso: bool | None = option(optional(flag), default=None)
    nqb: bool = option(
        flag, default=False, doc="True: a filter puts DSCP 45 (NQB) into the L queue; Linux alone does not"
    )


class fq(Qdisc):
    """Fair queueing with pacing, as hosts use it."""

    limit: QueuePackets = option(queue_packets, default=10000)
    flow_limit: int = option(count(), default=100)
    quantum: Bytes = option(optional(size), default=None, doc="default: two frames")
    initial_quantum: Bytes = option(optional(size), default=None, doc="default: ten frames")
    maxrate: str | Rate | None = option(optional(rate), default=None)
    buckets: int = option(count(1, 262144), default=1024)
    orphan_mask: int = option(count(1), default=1023)
    pacing: bool = option(flag, default=True)
    refill_delay: Time = option(positive, default="40 ms")
    low_rate_threshold: str | Rate = option(rate, default="550 kbit/s")
    ce_threshold: Time = option(optional(microseconds), default=None)
    timer_slack: Time = option(optional(positive), default=None, doc="default: 10 µs")
    horizon: Time = option(microseconds, default="10 s")
    horizon_drop: bool = option(flag, default=True)

    def check(self) -> None:
        if self["maxrate"] is not None and not self["pacing"]:
            self.fail(
                "maxrate is of paced flows, and pacing is off: it would never act", "leave one of them out"
            )


class own_qdisc(Qdisc):
    """A qdisc that a module of `machine(modules=…)` brings. tc knows no options of it: the module's own
    parameters are what can be set."""

    positional = ("name",)

    name: str = option(identifier)

    def kind(self) -> str:
        return str(self["name"])

    def label(self) -> str:
        return self.kind()


def _needs_ecn(qdisc: Qdisc, name: str) -> None:
    if qdisc[name] and not qdisc["ecn"]:
        qdisc.fail(
            f"{name} is of packets that could be marked, and ecn is off: it would never act", "ecn=True"
        )


def _target_below(qdisc: Qdisc, interval: str) -> None:
    if qdisc["target"] >= qdisc[interval]:
        qdisc.fail(
            f"target ({qdisc['target']}) must be below {interval} ({qdisc[interval]})",
            "RFC 8289: a target of 5 to 10 % of the interval",
        )
