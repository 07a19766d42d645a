"""A download of a large file."""

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.tools.services.spec import HttpService
from narrows.units import Rate, Size


class download(HttpService):
    """A download of a 10 GB file: whole, or in chunks over several connections, also in batches."""

    connections: int = option(p.count(1, 6), default=1)
    chunk: str | Size | None = option(p.optional(p.size), default=None, doc="of one request; None: the file")
    batches: bool = option(
        p.flag, default=False, doc="the next chunks are asked for only when all of the last ones are there"
    )
    server_rate: str | Rate | None = option(
        p.optional(p.rate), default=None, doc="what the server holds each connection at"
    )
    client: str = option(
        p.choice("native", "browser"), default="native", doc="Node.js, or a page in Chromium"
    )

    def check(self) -> None:
        super().check()
        if self["chunk"] is None and (self["batches"] or self["connections"] > 1):
            self.fail("several connections and batches are of chunks", 'chunk="4 MB"')
        if self["http"] == "3":
            if self["client"] != "browser":
                self.fail("HTTP/3 is the browser's", 'client="browser"')
            for name, usual in (("connections", 1), ("server_rate", None)):
                if self[name] != usual:
                    self.fail(
                        f"{name}: over HTTP/3 there is one connection, which nothing holds",
                        f"leave {name} out",
                    )
