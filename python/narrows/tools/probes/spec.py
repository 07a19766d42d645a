"""Isochronous probes: UDP and ICMP echo."""

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import Time, Traffic, duration_needs_time
from narrows.units import Size


class udp_probe(Traffic):
    """Isochronous UDP probes: one-way and round-trip times."""

    needs_end = True
    is_stopped = True

    interval: Time = option(p.positive, default="10 ms")
    payload: str | Size = option(p.size, default="64 B")
    dscp: str | int = option(p.dscp, default="CS0")
    duration: Time = option(p.optional(p.positive), default=None)
    port: int | None = option(p.optional(p.port), default=None)

    def check(self) -> None:
        super().check()
        duration_needs_time(self)


class icmp_echo(Traffic):
    """Isochronous ICMP echo requests, as ping's."""

    needs_end = True
    is_stopped = True

    interval: Time = option(p.positive, default="100 ms")
    payload: str | Size = option(p.size, default="56 B")
    dscp: str | int = option(p.dscp, default="CS0")
    duration: Time = option(p.optional(p.positive), default=None)

    def check(self) -> None:
        super().check()
        duration_needs_time(self)
