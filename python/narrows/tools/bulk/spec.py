"""Long TCP flows of our own sender and receiver."""

from collections.abc import Sequence
from typing import Any

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.parsers import Wrong
from narrows.spec.traffic import DEFAULT_JITTER, Time, Traffic, after
from narrows.spec.under_test import UnderTest
from narrows.units import Size


def _names(value: Any) -> tuple[str, ...]:
    """One name of a pair, or several."""
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not names:
        raise Wrong(f"{value!r} names no pair", 'pairs="20ms", or pairs=["20ms", "far"]')
    return tuple(p.identifier(name) for name in names)


class bulk(Traffic):
    """Long TCP flows that send as much as they can."""

    needs_end = True
    is_stopped = True

    direction: str = option(p.choice("down", "up"), default="down")
    cca: str = option(p.cca, default="cubic")
    flows: int = option(p.count(1, 100_000), default=1)
    duration: Time = option(p.optional(p.positive), default=None)
    bytes: str | Size | None = option(p.optional(p.size), default=None, doc="per flow")
    start_spread: Time = option(p.duration, default="0 s", doc="each flow starts at random within this")
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)
    dscp: str | int = option(p.dscp, default="CS0")
    ecn: bool = option(p.flag, default=False)
    l4s: bool = option(
        p.flag, default=False, doc="ECT(1) in place of ECT(0), for the L queue; needs cca='dctcp'"
    )
    sample: Time = option(p.optional(p.positive), default=None, doc="interval of TCP_INFO of each flow")
    port: int | None = option(p.optional(p.port), default=None)
    io: str = option(
        p.choice("batched", "plain_receiver", "plain"), default="batched", doc="plain: send(), read() of each"
    )
    pairs: str | Sequence[str] | None = option(
        p.optional(_names), default=None, doc="of a Dumbbell, by name; None: spread evenly over all"
    )

    def check(self) -> None:
        super().check()
        if self["duration"] is not None and isinstance(self["start"], after):
            self.fail("a duration needs a start that is a time", "use stop=with_(another item), or bytes=…")
        p.check_l4s(self)

    def ends_by_itself(self) -> bool:
        return super().ends_by_itself() or self["bytes"] is not None


UNDER_TEST = {
    "bulk": UnderTest(
        bulk,
        {"duration": "10 s", "flows": 4, "start_spread": "100 ms", "sample": "50 ms"},
        {"1": {"flows": 1}, "16": {"flows": 16}, "30s": {"duration": "30 s"}},
    )
}
"""A load of plain flows, beside which the scenario's own probe is read."""
