"""Cloudflare's speed test: its own client from npm, under Node, against our server of its endpoints."""

from __future__ import annotations

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import DEFAULT_JITTER, Time, Traffic


class cloudflare(Traffic):
    """@cloudflare/speedtest with its default measurements, packet loss left out: single requests of growing
    size, down and up, with latency probes between and beside them."""

    cca: str | None = option(p.optional(p.cca), default=None, doc="of the server; None: the host's")
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)
    port: int | None = option(p.optional(p.port), default=None, doc="default: 80")
    time_limit: Time = option(p.positive, default="120 s")
