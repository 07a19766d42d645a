"""What every service has: a time that it is used for, and the CCA of its server."""

from __future__ import annotations

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import DEFAULT_JITTER, Time, Traffic, duration_needs_time


class Service(Traffic):
    """A service as a person uses it. Of several on one link each has nodes of its own:
    `Link(services=2)`, and `host=2` of the second."""

    needs_end = True
    is_stopped = True

    duration: Time = option(p.optional(p.positive), default=None, doc="how long it is used")
    cca: str | None = option(
        p.optional(p.cca), default=None, doc="of all connections of its server's node; None: the usual one"
    )
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)
    port: int | None = option(p.optional(p.port), default=None)

    def check(self) -> None:
        super().check()
        duration_needs_time(self)
