"""A transparent proxy that splits TCP connections."""

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import Traffic


class split_tcp(Traffic):
    """HAProxy in the middle of the path, as mobile networks have performance enhancing proxies: every TCP
    connection that comes by is ended there, and one of its own is opened to where it wanted to go. Neither
    host knows. Each of the two connections has its own half of the base RTT."""

    port: int = option(p.port, default=3129, doc="that it listens on")
