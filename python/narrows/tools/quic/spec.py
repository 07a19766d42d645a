"""A QUIC stack that transfers, one that comes with narrows or a person's own."""

from collections.abc import Sequence
from pathlib import Path

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import DEFAULT_JITTER, Time, Traffic, duration_needs_time
from narrows.spec.under_test import UnderTest
from narrows.tools.quic import stack as stacks
from narrows.tools.recipe import check_switches, check_words
from narrows.units import Size

SWITCHES = {"flows": ("flows",), "streams": ("streams",), "ecn": ("ecn",), "pacing": ("pacing",)} | {
    "bytes": ("bytes", "size", "part"), "qlog": ("qlog",), "window": ("window",), "pause": ("pause",)
}  # fmt: skip
"""Options that a stack needs a switch for, and the words that are one."""
OF_THE_CLIENT = ("flows", "streams", "bytes", "pause")
"""What only who asks for a transfer has to know."""


class quic(Traffic):
    """Transfers over QUIC in user space: `stack="quinn"`, or the two programs of a stack of one's own."""

    positional = ("stack",)
    needs_end = True
    is_stopped = True

    stack: str | None = option(
        p.optional(p.text), default=None, doc="narrows quic list, or a folder with a stack.toml"
    )
    peer: str | None = option(
        p.optional(p.text), default=None, doc="the stack of the client's end; default: the same"
    )
    server: str | Sequence[str] | None = option(
        p.optional(p.argv), default=None, doc='of one\'s own: "srv --listen @at --qlog @qlog"'
    )
    client: str | Sequence[str] | None = option(
        p.optional(p.argv), default=None, doc='of one\'s own: "cli https://@at/"'
    )
    depends: Sequence[str] = option(
        p.texts, default=(), doc="files and folders of these programs: a change of one makes a new run"
    )
    direction: str = option(p.choice(*stacks.WAYS), default="down")
    cca: str | None = option(
        p.optional(p.identifier),
        default=None,
        doc="the stack's own, in the program; a run in which it says another fails",
    )
    duration: Time = option(p.optional(p.positive), default=None)
    bytes: str | Size | None = option(
        p.optional(p.size), default=None, doc="of each connection and way; it then ends by itself"
    )
    pause: Time = option(
        p.optional(p.positive),
        default=None,
        doc="the connection transfers bytes, is silent for so long, and transfers them again",
    )
    flows: int = option(p.count(1, 1000), default=1, doc="connections")
    streams: int = option(p.count(1, 100), default=1, doc="of each connection and way")
    window: str | Size = option(p.size, default="16 MB", doc="of flow control")
    ecn: bool | None = option(p.optional(p.flag), default=None, doc="None: as the stack does")
    pacing: bool | None = option(p.optional(p.flag), default=None, doc="None: as the stack does")
    host_qdisc: str | None = option(
        p.optional(p.choice("fq", "fq_codel", "pfifo", "pfifo_fast")),
        default=None,
        doc="of the two hosts' interfaces: SO_TXTIME needs fq",
    )
    qlog: bool = option(p.flag, default=False, doc="both ends write it, and it becomes series")
    ready_line: str | None = option(
        p.optional(p.text),
        default=None,
        doc="text that the server prints when it is up; default: its UDP socket is bound",
    )
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)
    port: int | None = option(p.optional(p.port), default=None, doc="default: 4433 and up")
    time_limit: Time = option(p.optional(p.positive), default=None)

    def check(self) -> None:
        super().check()
        duration_needs_time(self)
        own = [name for name in ("server", "client") if self[name] is not None]
        if (self["stack"] is None) == (not own):
            self.fail("stack, or server and client", 'stack="quinn"')
        if len(own) == 1:
            self.fail(f"{own[0]} is one end of two", "server=… and client=…")
        if own and self["peer"] is not None:
            self.fail("peer is the client of a stack", "leave out peer, or server and client")
        server, client = self.ends()
        if server.protocol != client.protocol:
            self.fail(
                f"{server.name} speaks {server.protocol} over QUIC, {client.name} {client.protocol}",
                "two stacks of one protocol: narrows quic list",
            )
        if server.name != client.name:
            self._check_switches(server, [name for name in SWITCHES if name not in OF_THE_CLIENT])
        self._check_switches(client, list(SWITCHES))
        for sender in {"down": (server,), "up": (client,), "both": (server, client)}[self["direction"]]:
            self._check_cca(sender)
        if self["pause"] is not None and self["bytes"] is None:
            self.fail("a pause stands between two transfers of bytes, and there are none", 'bytes="5 MB"')
        if self["pause"] is not None and self["direction"] != "down":
            self.fail("a pause is the client's, between two downloads", 'direction="down"')
        if self["direction"] not in client.ways:
            self.fail(f"{client.name} goes {', '.join(client.ways)} only", "another direction, or stack")

    def _check_switches(self, one: stacks.Stack, names: Sequence[str]) -> None:
        for name in ("server", "client", "qlog"):
            check_words(getattr(one, name), stacks.FILLED, self.fail)
        check_switches(self, one, {name: SWITCHES[name] for name in names})

    def _check_cca(self, sender: stacks.Stack) -> None:
        """A name without a switch is what a program of one's own is called by, and no choice."""
        if self["cca"] is None:
            return
        if sender.ccas and self["cca"] not in sender.ccas:
            self.fail(f"{sender.name} has no {self['cca']}", f"cca: one of {', '.join(sender.ccas)}")
        if sender.folder is not None and not sender.ccas and not sender.has("cca"):
            remedy = f'ccas = ["{self["cca"]}"] in its {stacks.FILE}, which names it, or @cca in its words'
            self.fail(f"{sender.name} does not say which congestion control it has", remedy)

    def ends(self) -> tuple[stacks.Stack, stacks.Stack]:
        """The stacks of the server's and of the client's end."""
        if self["stack"] is None:
            own = stacks.Stack(
                name="of one's own", stack="of one's own", server=self["server"], client=self["client"]
            )
            return own, own
        beside = Path(self.where.rpartition(":")[0]).absolute().parent
        server = stacks.find(self["stack"], beside, self.where)
        return server, server if self["peer"] is None else stacks.find(self["peer"], beside, self.where)

    def ends_by_itself(self) -> bool:
        return super().ends_by_itself() or self["bytes"] is not None

    def holds_bytes(self) -> int:
        """A stack writes ahead as far as its window goes, on each connection."""
        window, size = self["window"].bytes, self["bytes"]
        of_each = window if size is None else min(window, size.bytes)
        return int(self["flows"] * of_each * (2 if self["direction"] == "both" else 1))


UNDER_TEST = {
    "quic": UnderTest(
        quic,
        {"stack": "quinn", "duration": "10 s"},
        {"bbr": {"cca": "bbr"}, "reno": {"cca": "reno"}, "4": {"flows": 4}},
    )
}
"""A load over QUIC, beside which the scenario's own probe is read."""
