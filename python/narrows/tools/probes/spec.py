"""Isochronous probes: UDP and ICMP echo."""

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import Time, Traffic, duration_needs_time
from narrows.units import Size


class _Probe(Traffic):
    needs_end = True
    is_stopped = True

    dscp: str | int = option(p.dscp, default="CS0")
    duration: Time = option(p.optional(p.positive), default=None)

    def check(self) -> None:
        super().check()
        duration_needs_time(self)


class udp_probe(_Probe):
    """Isochronous UDP probes: one-way and round-trip times."""

    interval: Time = option(p.positive, default="10 ms")
    payload: str | Size = option(p.size, default="64 B")
    port: int | None = option(p.optional(p.port), default=None)


class icmp_echo(_Probe):
    """Isochronous ICMP echo requests, as ping's."""

    interval: Time = option(p.positive, default="100 ms")
    payload: str | Size = option(p.size, default="56 B")
