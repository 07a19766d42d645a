"""Long TCP flows of our own sender and receiver."""

from __future__ import annotations

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import DEFAULT_JITTER, Time, Traffic, after
from narrows.units import Size


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
