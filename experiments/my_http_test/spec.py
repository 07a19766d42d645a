"""A speed test that somebody might have: HTTP, in Python, against its own server."""

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import DEFAULT_JITTER, Time, Traffic


class my_http_test(Traffic):
    """Downloads over HTTP for some seconds, and asks for one byte now and then to see how long that takes."""

    duration: Time = option(p.positive, default="5 s", doc="of the download")
    every: Time = option(p.positive, default="200 ms", doc="how often it asks for one byte")
    connections: int = option(p.count(1, 16), default=1)
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER, doc="drawn from the seed of a repetition")
    port: int | None = option(p.optional(p.port), default=None, doc="default: 8080")

    variations = {"4": {"connections": 4}}  # noqa: RUF012
