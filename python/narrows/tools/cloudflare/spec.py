"""Cloudflare's speed test: its own client from npm, under Node or in Chromium, against our server of its
endpoints."""

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import DEFAULT_JITTER, Time, Traffic
from narrows.spec.under_test import UnderTest


class cloudflare(Traffic):
    """@cloudflare/speedtest with its default measurements, packet loss left out: single requests of growing
    size, down and up, with latency probes between and beside them."""

    client: str = option(p.choice("node", "chromium"), default="node", doc="what runs it; chromium: headless")
    tls: bool = option(p.flag, default=False, doc="https, with a certificate that the server makes")
    cca: str | None = option(p.optional(p.cca), default=None, doc="of the server; None: the host's")
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)
    port: int | None = option(p.optional(p.port), default=None, doc="default: 80, with TLS 443")
    time_limit: Time = option(p.positive, default="120 s")


UNDER_TEST = {"cloudflare": UnderTest(cloudflare, variations={"bbr": {"cca": "bbr"}})}
