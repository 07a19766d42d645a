"""Many senders, one bottleneck, receivers: the link of experiments with tens to thousands of flows.

A pair is a class of flows: its base RTT and the sender nodes that its flows are spread over. Receivers, if
there are several, take turns over the senders. The base RTT is all on the way back (the acknowledgements'),
where it costs least and TCP cannot tell the difference; the way back is not a bottleneck. What has no meaning
here (delay, jitter, loss, the other direction) is refused.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from narrows.spec import parsers as p
from narrows.spec.axis import Axis
from narrows.spec.base import Choose, SpecObject, instance, option, settle
from narrows.spec.link import Link
from narrows.spec.moving_rate import MovingRate
from narrows.spec.parsers import Wrong
from narrows.units import Duration

Time = str | Duration | None

MAX_SENDERS = 1000
NO_DELAY = "bare"
"""What a pair without a base RTT is called: a label cannot be empty, and the path still has some RTT."""
NOT_HERE = (
    "rate_up", "queue_up", "shaper_up", "base_rtt", "delay_down", "delay_up", "jitter", "jitter_up", "loss",
    "loss_up", "line_rate", "services", "loss_burst", "duplicate", "reorder",
    "host_queue", "medium", "medium_up", "keep_order",
)  # fmt: skip
"""Options of a Link that a Dumbbell has not."""


class pair(SpecObject):
    """A class of flows: one base RTT, and over how many sender nodes they are spread."""

    positional = ("base_rtt",)

    base_rtt: Time = option(p.optional(p.positive), doc='"20 ms"; None: no delay is added')
    senders: int = option(p.count(1, MAX_SENDERS), default=1)
    name: str | None = option(p.optional(p.identifier), default=None, doc="default: the base RTT, 20ms")

    def called(self) -> str:
        """The name by which traffic chooses it."""
        return str(self["name"] or (NO_DELAY if self["base_rtt"] is None else self["base_rtt"].label()))

    def rtt(self) -> Duration:
        """What is added to the path: 0 where nothing is."""
        duration: Duration | None = self["base_rtt"]
        return Duration(0) if duration is None else duration


def _pairs(value: Any) -> tuple[Any, ...]:
    """A list of pairs. Elements may be axes of pairs; None as such an axis' value leaves the pair out."""
    one = instance(pair)
    if isinstance(value, pair):
        return (value,)
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise Wrong(f"{value!r} is not a list of pairs", 'pairs=[pair("20 ms"), pair("100 ms", senders=5)]')
    return tuple(each if isinstance(each, Axis) else one(each) for each in value)


class Dumbbell(Link):
    """Sender nodes, a router with the bottleneck, receiver nodes: the topology of flows at scale."""

    pairs: Sequence[pair] | pair = option(_pairs, default=(pair(base_rtt="20 ms"),))
    receivers: int = option(
        p.count(1, MAX_SENDERS), default=1, doc="nodes; the n-th sender's flows go to the n-th, over and over"
    )

    def members(self) -> tuple[pair, ...]:
        """The pairs of one run, in order."""
        pairs: tuple[pair, ...] = self["pairs"]
        return pairs

    def senders(self) -> int:
        """How many sender nodes there are."""
        return sum(each["senders"] for each in self.members())

    def longest(self) -> Duration:
        """The longest base RTT: that of a limit in BDP."""
        return max(each.rtt() for each in self.members())

    # The pairs are a tuple inside an option, which the base class does not look into.

    def parts(self) -> Iterator[Any]:
        yield from super().parts()
        if not isinstance(self["pairs"], Axis):
            yield from self["pairs"]

    def has_axes(self) -> bool:
        inside = () if isinstance(self["pairs"], Axis) else self["pairs"]
        return super().has_axes() or any(isinstance(each, Axis) or each.has_axes() for each in inside)

    def _resolve(self, name: str, value: Any, choose: Choose) -> Any:
        if name != "pairs":
            return super()._resolve(name, value, choose)
        chosen = (settle(each, choose) for each in self._parse(name, settle(value, choose)))
        return tuple(each.resolve(choose) for each in chosen if each is not None)

    def check(self) -> None:
        wrong = [name for name in NOT_HERE if name in self.given]
        if wrong:
            self.fail(
                f"{wrong[0]} has no meaning here: there is one bottleneck, towards the receivers",
                'each pair has its base RTT: pairs=[pair("20 ms")]; Link() has the other options',
            )
        self.check_rate()
        if not self.members():
            self.fail("no pair is left in some runs", "an axis of a pair makes it absent; keep one")
        names = [each.called() for each in self.members()]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            self.fail(f"two pairs are called {twice}", 'give one of them a name: pair("20 ms", name="b")')
        senders, receivers = self.senders(), self["receivers"]
        if senders > MAX_SENDERS:
            self.fail(f"{senders} sender nodes", f"at most {MAX_SENDERS}: flows share senders")
        if receivers > senders:
            self.fail(
                f"{receivers} receivers for {senders} sender node{'s' if senders > 1 else ''}",
                f"a sender sends to one receiver: at most receivers={senders}, "
                f'or more senders: pair("20 ms", senders={receivers})',
            )
        if not self.longest() and any(isinstance(value, p.Bdp) for value in self["queue"].values.values()):
            self.fail("a BDP needs a base RTT", "give a pair a base_rtt, or the limit in packets or bytes")
        if isinstance(self["rate"], MovingRate):
            self.fail(
                "the rate of a Dumbbell does not move by itself", "a fixed rate, and link.at(); or a Link"
            )
        for change in self.changes:
            given = change.given - {"time", "rate"}
            if given:
                change.fail(f"{min(given)} cannot change here", "a Dumbbell's rate can")
        super().check()

    def delays(self) -> tuple[Duration, Duration]:
        """All on the way back."""
        return Duration(0), self.longest()
