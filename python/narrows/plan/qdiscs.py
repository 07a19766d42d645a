"""How each qdisc of an experiment is said to `tc`: kind, and options as tc's words, in order.

Defaults that depend on the link (quantum of one frame, limits in BDP) are worked out here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from narrows.headers import ETHERNET_HEADER_BYTES
from narrows.plan import tc_limits
from narrows.spec.parsers import Bdp
from narrows.spec.queues import Qdisc, bfifo, cake, choke, dualpi2, own_qdisc, red
from narrows.units import Duration, Rate, Size

Words = dict[str, str]
"""tc's option → its value; empty for a bare word such as `ecn`. In tc's order."""


@dataclass(frozen=True)
class QueueContext:
    """What a queue's defaults depend on."""

    rate: Rate | None
    base_rtt: Duration
    mtu_bytes: int

    @property
    def rate_bps(self) -> int | None:
        return None if self.rate is None else self.rate.bps

    @property
    def frame_bytes(self) -> int:
        return self.mtu_bytes + ETHERNET_HEADER_BYTES

    def bdp_bytes(self, factor: float, queue: Qdisc) -> int:
        if self.rate is None:
            queue.fail(f"a limit of {factor:g} BDP needs a shaped link", 'give the limit in bytes, "100 KB"')
        return max((self.rate * self.base_rtt).scaled(factor).bytes, self.frame_bytes)


COUNT_BYTES = (bfifo, red)
"""Queues whose limit is in bytes."""

# Options that differ from "name value" and "name" / nothing.
_ON_OFF = {
    "ecn": ("ecn", "noecn"),
    "bytemode": ("bytemode", "nobytemode"),
    "dq_rate_estimator": ("dq_rate_estimator", "no_dq_rate_estimator"),
    "pacing": ("pacing", "nopacing"),
    "horizon_drop": ("horizon_drop", "horizon_cap"),
}
_ONLY_ON = {("sfq", "ecn"), ("red", "ecn"), ("choke", "ecn")}
"""Where "noecn" is not a word."""


def words_of(queue: Qdisc, context: QueueContext) -> Words:
    """The qdisc's options as tc's words; an error of its line for what tc does not take."""
    tc_limits.check(queue, queue.kind(), values_of(queue, context), context.frame_bytes, context.rate_bps)
    words: Words = {}
    if isinstance(queue, cake):
        words.update(_cake(queue))
    elif isinstance(queue, own_qdisc):
        return {}
    elif isinstance(queue, dualpi2):
        words.update(_dualpi2(queue, context))
    else:
        for name in queue.options:
            words.update(_word(queue, name, queue[name], context))
    if isinstance(queue, (red, choke)):
        rate = queue["bandwidth"] or context.rate
        if rate is not None:
            words["bandwidth"] = rate.tc()
    return words


def arguments(words: Words) -> tuple[str, ...]:
    """Words as arguments of a command."""
    return tuple(part for name, value in words.items() for part in ((name, value) if value else (name,)))


def values_of(queue: Qdisc, context: QueueContext) -> dict[str, Any]:
    """The options of a queue with BDPs as numbers."""
    return {
        name: int(text_of(value, queue, context)) if isinstance(value, Bdp) else value
        for name, value in queue.values.items()
    }


def own_quantum(queue: Qdisc, name: str, context: QueueContext) -> int | None:
    """What a quantum that is not given is: Linux' own rule, written out."""
    if name not in ("quantum", "initial_quantum"):
        return None
    frames = {("fq", "quantum"): 2, ("fq", "initial_quantum"): 10}.get((queue.kind(), name), 1)
    return frames * context.frame_bytes


def _word(queue: Qdisc, name: str, value: Any, context: QueueContext) -> Iterator[tuple[str, str]]:
    kind = queue.kind()
    if value is None and (quantum := own_quantum(queue, name, context)) is not None:
        yield name, str(quantum)
    elif value is None or (kind == "sfq" and name == "perturb" and not value):
        return
    elif isinstance(value, bool):
        on, off = _ON_OFF.get(name, (name, ""))
        word = on if value else ("" if (kind, name) in _ONLY_ON else off)
        if word:
            yield word, ""
    elif name in ("probability", "increment", "decrement"):
        yield name, f"{value / 100:g}"
    elif kind == "sfb" and name in ("rehash", "db"):
        yield name, str(value.ns // 1_000_000)
    elif name == "perturb":
        yield name, str(value.ns // 1_000_000_000)
    else:
        yield name, text_of(value, queue, context)


def text_of(value: Any, queue: Qdisc, context: QueueContext) -> str:
    """One value as tc reads it."""
    if isinstance(value, (Rate, Size, Duration)):
        return value.tc()
    if isinstance(value, Bdp):
        in_bytes = context.bdp_bytes(value.factor, queue)
        return str(in_bytes if isinstance(queue, COUNT_BYTES) else math.ceil(in_bytes / context.frame_bytes))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _cake(queue: Qdisc) -> Iterator[tuple[str, str]]:
    """All but the bandwidth, which is the shaper's business."""
    if queue["autorate_ingress"]:
        yield "autorate-ingress", ""
    yield queue["diffserv"], ""
    yield queue["flow_isolation"], ""
    if queue["nat"]:
        # Not "nonat", its default: a kernel without connection tracking refuses both words.
        yield "nat", ""
    yield ("wash" if queue["wash"] else "nowash"), ""
    if queue["ack_filter_aggressive"]:
        yield "ack-filter-aggressive", ""
    else:
        yield ("ack-filter" if queue["ack_filter"] else "no-ack-filter"), ""
    yield ("split-gso" if queue["split_gso"] else "no-split-gso"), ""
    yield "rtt", queue["rtt"].tc()
    if queue["overhead"] is None:
        yield "raw", ""
        if (
            queue["atm"] != "noatm"
        ):  # cells without an overhead: "raw" would take them back, so they come after
            yield queue["atm"], ""
    else:
        yield queue["atm"], ""
        yield "overhead", str(queue["overhead"])
    if queue["mpu"] is not None:
        yield "mpu", queue["mpu"].tc()
    if queue["memlimit"] is not None:
        yield "memlimit", queue["memlimit"].tc()
    yield ("ingress" if queue["ingress"] else "egress"), ""


def _dualpi2(queue: Qdisc, context: QueueContext) -> Iterator[tuple[str, str]]:
    """Only what was asked for: a tc without DualPI2 (older than 6.17) can still make it without options."""
    for name in ("limit", "memory_limit", "target", "tupdate", "alpha", "beta", "step_thresh"):
        if queue[name] is not None:
            word = "memlimit" if name == "memory_limit" else name
            yield word, text_of(queue[name], queue, context)
    for name in ("min_qlen_step", "coupling_factor"):
        if queue[name] is not None:
            yield name, str(queue[name])
    if queue["overload"] is not None:
        yield ("drop_on_overload" if queue["overload"] == "drop" else "overflow"), ""
    if queue["drop_at"] is not None:
        yield f"drop_{queue['drop_at']}", ""
    if queue["c_protection"] is not None:
        yield "classic_protection", f"{queue['c_protection']:g}%"
    if queue["classic_ecn"] is not None:
        yield ("any_ect" if queue["classic_ecn"] else "l4s_ect"), ""
    if queue["split_gso"] is not None:
        yield ("split_gso" if queue["split_gso"] else "no_split_gso"), ""
