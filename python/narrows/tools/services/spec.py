"""What every service has: a time that it is used for, and the CCA of its server."""

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


HTTP3_CCAS = ("cubic", "reno", "bbr")
"""Those of the QUIC server (quinn), in the program and not in the kernel; the first is the usual one."""


class HttpService(Service):
    """A service that is there over TCP and over QUIC."""

    http: str = option(
        p.choice("1.1", "3"),
        default="1.1",
        doc='"3": over QUIC, one connection; cca is then the QUIC server\'s own',
    )

    def check(self) -> None:
        super().check()
        if self["http"] == "3" and self["cca"] not in (None, *HTTP3_CCAS):
            self.fail(f"the QUIC server has no {self['cca']}", f"cca: one of {', '.join(HTTP3_CCAS)}")
