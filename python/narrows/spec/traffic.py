"""What every item of traffic has: an id, a start, an end. The items themselves are in `narrows.tools`.

An item's id is the name of the variable that it is assigned to. It says what is to run and when, not how; the
programs and their arguments are each tool's `lower.py`.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from narrows.spec import parsers as p
from narrows.spec.axis import Axis
from narrows.spec.base import Choose, SpecObject, option, settle
from narrows.spec.parsers import Wrong
from narrows.units import NS_PER_S, Duration, Rate

Time = str | Duration | None
DEFAULT_JITTER = "10 ms"
"""Where in this span an item really starts is drawn from the run's seed, so that repetitions differ."""
CLIENT_SLACK_NS = 30 * NS_PER_S
"""What a client may take beyond the time that it counts itself, for its control connection through a full
queue."""
TRANSFER_SLACK = 4
"""A transfer of a given size may take this many times what the whole link would need."""


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

    def target(self, choose: Choose) -> "Traffic | None":
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
    is_stopped: ClassVar[bool] = False
    """True if it is stopped from outside after its duration; else it counts its own time."""

    id: str | None = option(p.optional(p.identifier), default=None, doc="default: the variable's name")
    start: Time | after = option(_start, default="0 s")
    stop: Time | with_ = option(_stop, default=None)
    start_jitter: Time = option(p.duration, default="0 s")
    host: int = option(p.count(1, 20), default=1, doc="which of a Home's hosts, or of a Link's services")

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

    def takes(self, rates: Sequence[Rate]) -> tuple[int, int] | None:
        """How long it takes by itself on a link of these rates, in ns: expected, and at most. None where
        nothing is known; then its `time_limit` holds."""
        own_ns = self.own_ns()
        if own_ns is not None:
            return own_ns, own_ns if self.is_stopped else self.limited(own_ns + CLIENT_SLACK_NS)
        if self.values.get("bytes") is not None:
            total = self["bytes"].scaled(self["flows"])
            needed = max(total.time_at(rate).ns for rate in rates)
            return needed, self.limited(TRANSFER_SLACK * needed + 60 * NS_PER_S)
        return None

    def own_ns(self) -> int | None:
        """The time that its options give it; None without any."""
        duration = self.values.get("duration")
        return duration.ns if isinstance(duration, Duration) else None

    def holds_bytes(self) -> int:
        """What its own programs keep of its data at most, before the path takes it and until it is
        acknowledged. A kernel's sockets keep no more than path and queue hold, which is known without it."""
        return 0

    def limited(self, most_ns: int) -> int:
        """Its `time_limit` where it has one, else this."""
        limit = self.values.get("time_limit")
        return limit.ns if isinstance(limit, Duration) else most_ns


def duration_needs_time(item: Traffic) -> None:
    """A duration cannot be counted from a start that is not known."""
    if item["duration"] is not None and isinstance(item["start"], after):
        item.fail("a duration needs a start that is a time", "use stop=with_(another item)")


def is_traffic(value: Any) -> bool:
    """Whether a module-level object is an item, or an axis of items and None."""
    if isinstance(value, Axis):
        present = [each for each in value.values.values() if each is not None]
        return bool(present) and all(is_traffic(each) for each in present)
    return isinstance(value, Traffic)
