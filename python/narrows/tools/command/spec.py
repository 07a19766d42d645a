"""Any other program, in any node."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.parsers import Wrong
from narrows.spec.traffic import Time, Traffic


def _endpoints(value: Any) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else tuple(value)
    for text in texts:
        if not re.fullmatch(r"@(server|client):\d{1,5}", text):
            raise Wrong(f"{text!r} is not a port of @server or @client", 'write "@server:80"')
        p.port(int(text.rpartition(":")[2]))
    return texts


class command(Traffic):
    """Any program in any node. `@agent` is the agent, `@out` the run's raw directory, `@server` and `@client`
    the addresses of the hosts."""

    positional = ("argv",)

    argv: str | Sequence[str] = option(p.argv)
    node: str = option(p.choice("client", "server", "home", "router", "path"), default="client")
    tool: str = option(p.identifier, default="command", doc="what parses its output")
    env: Mapping[str, str | int] = option(p.text_map, default={})
    background: bool = option(p.flag, default=False, doc="does not keep the run alive")
    endpoint: str | Sequence[str] = option(
        _endpoints,
        default=(),
        doc='where its flows are received, "@server:80"; default: as argv says',
    )
    ready: str | None = option(
        p.optional(p.text), default=None, doc="address:port it listens on when it is up"
    )
    stop_signal: str = option(p.choice("INT", "TERM", "KILL", "HUP", "QUIT", "USR1", "USR2"), default="INT")
    ok_exits: Sequence[int] = option(
        lambda value: tuple(p.count(0, 255)(each) for each in value), default=(0,)
    )
    time_limit: Time = option(p.positive, default="60 s")

    def check(self) -> None:
        super().check()
        if self["ready"] is not None:
            address = self["ready"].replace("@server", "10.0.2.1").replace("@client", "10.0.0.1")
            try:
                p.tcp_address(address)
            except Wrong as error:
                self.fail(f"ready: {error.message}", 'such as "@server:80"')
