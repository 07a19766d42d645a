"""What all queueing disciplines share: how their options become tc's words, and what the kernel is to keep.

Each has a file of its own in `narrows.qdiscs`. Defaults that depend on the link (a quantum of one frame,
limits in BDP) are worked out here.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, dataclass_transform

from narrows import qdiscs
from narrows.headers import ETHERNET_HEADER_BYTES
from narrows.spec.base import SpecObject, option
from narrows.spec.parsers import Bdp, identifier
from narrows.tc import limit
from narrows.tc.options import Number, TcOption, Words, number
from narrows.tc.place import Place
from narrows.units import Duration, Rate


@dataclass(frozen=True)
class QueueContext:
    """What a queue's defaults depend on."""

    rate: Rate | None
    base_rtt: Duration
    mtu_bytes: int

    @property
    def frame_bytes(self) -> int:
        return self.mtu_bytes + ETHERNET_HEADER_BYTES

    def bdp_bytes(self, factor: float, queue: "Qdisc") -> int:
        if self.rate is None:
            queue.fail(f"a limit of {factor:g} BDP needs a shaped link", 'give the limit in bytes, "100 KB"')
        return max((self.rate * self.base_rtt).scaled(factor).bytes, self.frame_bytes)


@dataclass_transform(kw_only_default=True, field_specifiers=(option,))
class Qdisc(SpecObject):
    """A queueing discipline at the bottleneck."""

    title: ClassVar[str] = ""
    """As it is written in text, where that is not its name."""
    colour: ClassVar[str] = "#333333"
    marker: ClassVar[str] = "o"
    order: ClassVar[int] = 1000
    """Its place among the others, in every figure and table."""
    tc_kind: ClassVar[str] = ""
    """What `tc` calls it, where that is another's name."""
    example: ClassVar[str] = ""
    """Arguments of one without useful defaults."""
    can_shape: ClassVar[bool] = False
    is_fifo: ClassVar[bool] = False
    """It holds packets and does nothing else with them."""
    is_drop_tail: ClassVar[bool] = False
    """And "full" has one meaning: what comes last is dropped, whatever it is."""
    is_per_flow: ClassVar[bool] = False
    """Each flow has a queue of its own, and those take turns."""
    miscounts_above: ClassVar[bool] = False
    """It may drop without telling its parent, whose backlog is then wrong for good."""
    keeps_time: ClassVar[bool] = False
    """Nothing it does waits for a timer with slack: the kernel may run ahead of it (crates/agent)."""
    tells: ClassVar[Mapping[str, tuple[int, ...] | str]] = {}
    """Its own statistics (TCA_STATS_APP)."""
    also: ClassVar[dict[str, Place]] = {}
    """What the kernel keeps beside the options."""

    @classmethod
    def names(cls) -> list[str]:
        return [*(each.__name__ for each in qdiscs.every()), own_qdisc.__name__]

    @classmethod
    def places(cls) -> dict[str, Place]:
        """Where the kernel keeps what it is told."""
        own = {name: getattr(each, "place", None) for name, each in cls.options.items()}
        return {name: place for name, place in own.items() if place is not None} | cls.also

    @classmethod
    def counts_bytes(cls) -> bool:
        found = getattr(cls.options.get("limit"), "limit", None)
        return found is not None and found.unit == "bytes"

    def kind(self) -> str:
        """What `tc` calls it."""
        return self.tc_kind or self.label()

    def settled(self, context: QueueContext) -> dict[str, Any]:
        """Its options with BDPs as numbers."""
        made = {}
        for name, value in self.values.items():
            made[name] = value
            if isinstance(value, Bdp):
                in_bytes = context.bdp_bytes(value.factor, self)
                made[name] = in_bytes if self.counts_bytes() else math.ceil(in_bytes / context.frame_bytes)
        return made

    def words(self, context: QueueContext) -> Words:
        """Its options as tc's words; an error of its line for what tc or the kernel does not take."""
        values, words = self.settled(context), Words()
        limit.check(self, values, context.frame_bytes)
        self.check_together(values, context)
        for name, each, value in self._told(context):
            words |= each.said(name, value)
        return words

    def _told(self, context: QueueContext) -> Iterator[tuple[str, TcOption, Any]]:
        for name, value in self.settled(context).items():
            each = self.options[name]
            if isinstance(each, TcOption):
                yield name, each, each.frames * context.frame_bytes or None if value is None else value

    def check_together(self, values: Mapping[str, Any], context: QueueContext) -> None:
        """Refuse options of which tc or the kernel takes each, and not all."""

    def asked(self, context: QueueContext, shaped_to: Rate | None) -> dict[str, Number]:
        """What the kernel is to keep of its options, as numbers: times in ns, sizes in bytes, rates in bit/s,
        shares in percent, switches 0 and 1."""
        return {
            name: number(value)
            for name, each, value in self._told(context)
            if value is not None and each.place is not None
        }

    def shaping(self, rate: Rate | None) -> Words:
        """tc's words for the rate that it keeps by itself; None: none."""
        return {}

    def counted(self) -> dict[str, Any]:
        """What it makes of a packet's length where it shapes (`narrows.plan.model.Counted`)."""
        return {"of": "frame", "overhead_bytes": 0, "mpu_bytes": 0, "cells": "none"}

    def queues(self) -> "tuple[Qdisc, ...]":
        """One for each band, where it has bands of its own."""
        return ()

    def classes(self) -> list[tuple[str, int]]:
        """Which bits of the ToS byte go to which of its classes."""
        return []

    def splits_super_packets(self) -> bool:
        return "split_gso" in self.values and self["split_gso"] is not False

    def check_below(self, name: str, other: str, why: str | None = None) -> None:
        """Refuse one that is not below another."""
        low, high = self[name], self[other]
        if low is not None and high is not None and low >= high:
            self.fail(f"{name} ({low}) must be below {other} ({high})", why)

    def check_ecn(self, *names: str) -> None:
        """Refuse what is of packets that could be marked, where none is."""
        for name in names:
            if self[name] and not self["ecn"]:
                self.fail(
                    f"{name} is of packets that could be marked, and ecn is off: it would never act",
                    "ecn=True",
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
