"""Any other program, in any node."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.parsers import Wrong
from narrows.spec.traffic import Time, Traffic
from narrows.units import Rate, Size


def _endpoints(value: Any) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else tuple(value)
    for text in texts:
        if not re.fullmatch(r"@(server|client):\d{1,5}", text):
            raise Wrong(f"{text!r} is not a port of @server or @client", 'write "@server:80"')
        p.port(int(text.rpartition(":")[2]))
    return texts


class command(Traffic):
    """Any program in any node. `@agent` is the agent, `@out` the run's raw directory, `@own` one in it of its
    own, `@server` and `@client` the addresses of the hosts."""

    positional = ("argv",)

    argv: str | Sequence[str] = option(p.argv)
    node: str = option(p.choice("client", "server", "home", "router", "path"), default="client")
    tool: str = option(p.identifier, default="command", doc="what parses its output")
    depends: Sequence[str] = option(
        p.texts,
        default=(),
        doc="files and folders beside the experiment that it reads, as modules that it imports: a change of "
        "one makes a new run",
    )
    env: Mapping[str, str | int] = option(p.text_map, default={})
    background: bool = option(p.flag, default=False, doc="does not keep the run alive")
    endpoint: str | Sequence[str] = option(
        _endpoints, default=(), doc='where its flows are received, "@server:80"; default: as argv says'
    )
    cca: str | None = option(
        p.optional(p.identifier),
        default=None,
        doc="the congestion control that it uses; a run whose sockets send by another one fails",
    )
    ecn: bool | None = option(p.optional(p.flag), default=None, doc="whether its TCP uses ECN; checked so")
    mss: str | Size | None = option(p.optional(p.size), default=None, doc="its TCP_MAXSEG; checked so")
    pacing: str | Rate | None = option(
        p.optional(p.rate), default=None, doc="its SO_MAX_PACING_RATE; checked so"
    )
    ready: str | None = option(
        p.optional(p.text),
        default=None,
        doc='address:port it listens on when it is up; "udp://@server:443": a UDP socket is bound to it',
    )
    ready_line: str | None = option(
        p.optional(p.text), default=None, doc="text that it prints when it is up, on either output"
    )
    stop_signal: str = option(p.choice("INT", "TERM", "KILL", "HUP", "QUIT", "USR1", "USR2"), default="INT")
    ok_exits: Sequence[int] = option(
        lambda value: tuple(p.count(0, 255)(each) for each in value),
        default=(0,),
        doc="what it may end with by itself; (): it runs until it is stopped",
    )
    time_limit: Time = option(p.positive, default="60 s")

    def check(self) -> None:
        super().check()
        if self["ready"] is not None and self["ready_line"] is not None:
            self.fail("ready and ready_line say when it is up", "give one of them")
        if self["ready"] is not None:
            address = (
                self["ready"]
                .removeprefix("udp://")
                .replace("@server", "10.0.2.1")
                .replace("@client", "10.0.0.1")
            )
            try:
                p.tcp_address(address)
            except Wrong as error:
                self.fail(f"ready: {error.message}", 'such as "@server:80"')
