"""A web page, loaded in headless Chromium."""

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import Time
from narrows.tools.services.spec import Service
from narrows.units import Duration

LEAST = Duration.parse("5 s")
"""Between two loads: a browser starts, loads and is ended."""


class page(Service):
    """A web page, loaded several times, each time by a new browser with nothing in its cache."""

    needs_end = False
    is_stopped = False

    kind: str = option(
        p.choice("text", "domains", "pictures"), default="text", doc="domains: of 24 hosts; pictures: of many"
    )
    loads: int = option(p.count(1, 100), default=10)
    every: Time = option(p.positive, default="45 s", doc="from one load's start to the next's")
    time_limit: Time = option(p.optional(p.positive), default=None)

    def check(self) -> None:
        if self["duration"] is not None:
            self.fail("how long it takes is loads × every", "leave duration out")
        if self["every"] < LEAST:
            self.fail(f"every {self['every']} is too often: a browser has to start", f'at least "{LEAST}"')
        super().check()

    def own_ns(self) -> int | None:
        """The loads, each in its own time."""
        every: int = self["every"].ns
        loads: int = self["loads"]
        return loads * every
