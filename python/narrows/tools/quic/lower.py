"""The two ends of a stack, with its words filled in."""

from narrows.plan.files import with_files
from narrows.plan.items import Command, Ready, TrafficItem, Uses
from narrows.plan.lowering import Lowering, background, carries_quic, foreground, receives
from narrows.spec.traffic import Traffic
from narrows.tools.command.lower import depended
from narrows.tools.quic.spec import quic
from narrows.tools.quic.stack import MOST_FILE_BYTES, Stack
from narrows.tools.recipe import WORD, fill
from narrows.units import NS_PER_MS

PORT = 4433
ENDLESS = 10**12
BLOCK_BYTES = 512
_BOUNDED = 'trap "" XFSZ; ulimit -f {blocks}; exec "$@"'
"""Beyond it a write fails; a program that does not look is not ended by it."""


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """A server, up before t = 0, and a client at the item's times."""
    assert isinstance(item, quic)
    carries_quic(item, state)
    server, client = item.ends()
    port, at = state.listening(item, item_id, PORT)
    ready = Ready(udp=at) if item["ready_line"] is None else Ready(line=item["ready_line"])
    made: list[Command] = []
    if item["host_qdisc"] is not None:
        made += [_host_qdisc(item, item_id, node, state) for node in (state.server, state.client)]
    # Of who sends: what it is said to use, also where that is nothing, as its data must come.
    uses = {
        "server": None if item["direction"] == "up" else Uses(cca=_cca(item, server)),
        "client": None if item["direction"] == "down" else Uses(cca=_cca(item, client)),
    }
    serving = background(
        f"{item_id}-server",
        item_id,
        "quic-server",
        state.server,
        _argv(server.server, server, item, at, f"{item_id}-server", state),
        ready,
        ok_exits=(),
        programs=_programs(server.server, server),
        uses=uses["server"],
    )
    asking = foreground(
        item,
        item_id,
        "quic",
        _argv(client.client, client, item, at, f"{item_id}-server", state),
        receives(state.server_address, port, "udp"),
        state,
        # Without a number of bytes it has no end of its own: one that ends has broken off.
        ok_exits=() if item["bytes"] is None else (0,),
        programs=_programs(client.client, client),
        uses=uses["client"],
    )
    depends = depended(item)
    return [with_files(each, depends) for each in (*made, serving, asking)]


def _cca(item: quic, stack: Stack) -> str | None:
    """What an end uses: as the item says, else the stack's own choice."""
    return item["cca"] or next(iter(stack.ccas), None)


def _argv(
    words: tuple[str, ...], stack: Stack, item: quic, at: str, server_id: str, state: Lowering
) -> tuple[str, ...]:
    host, _, port = at.rpartition(":")
    size = item["bytes"]
    whole = ENDLESS if size is None else size.bytes
    switched = {None: "on", True: "on", False: "off"}
    filled = {
        "at": at,
        "host": host,
        "port": port,
        "way": item["direction"],
        "cca": _cca(item, stack) or "",
        "bytes": str(0 if size is None else size.bytes),
        "size": str(whole),
        "part": str(-(-whole // item["streams"])),
        "flows": str(item["flows"]),
        "streams": str(item["streams"]),
        "pause": str(0 if item["pause"] is None else round(item["pause"].ns / NS_PER_MS)),
        "window": str(item["window"].bytes),
        "ecn": switched[item["ecn"]],
        "pacing": switched[item["pacing"]],
        "qlog": "@own",
        "cert": f"@out/{server_id}/cert.pem",
        "key": f"@out/{server_id}/key.pem",
    }
    is_server = words is stack.server
    if is_server:
        # "@own" says that the directory is to be there.
        filled |= {"cert": "@own/cert.pem", "key": "@own/key.pem"}
    if stack.has("here"):
        filled["here"] = state.built(f"the QUIC stack {stack.name}", stack)
    more = stack.qlog if item["qlog"] else ()
    asked = {name for word in words for name in WORD.findall(word)}
    argv = fill((words[0], *more, *words[1:]), filled)
    if words[0] == "@agent":
        # Its mode comes first.
        argv = (argv[0], argv[1 + len(more)], *argv[1 : 1 + len(more)], *argv[2 + len(more) :])
    if asked & {"cert", "key"} and is_server:
        made = ("--name", host, "--cert", filled["cert"], "--key", filled["key"])
        argv = ("@agent", "certified", *made, "--", *argv)
    return ("sh", "-c", _BOUNDED.format(blocks=MOST_FILE_BYTES // BLOCK_BYTES), "sh", *argv)


def _programs(words: tuple[str, ...], stack: Stack) -> tuple[str, ...]:
    """Those that must be there: what a stack needs, and of one's own the program itself."""
    own = () if words[0].startswith("@") or stack.needs else words[:1]
    return ("sh", *own, *(name for name in stack.needs if name in words))


def _host_qdisc(item: quic, item_id: str, node: str, state: Lowering) -> Command:
    """A host's own qdisc is no bottleneck's: it is set beside the plan's."""
    first = state.host_qdiscs.setdefault(node, (item_id, item["host_qdisc"]))
    if first[1] != item["host_qdisc"]:
        item.fail(f"{node} has one qdisc of its own, and {first[0]} says {first[1]}", "the same for both")
    argv = ("tc", "qdisc", "replace", "dev", state.topology.of(node)[0].name, "root", item["host_qdisc"])
    return background(f"{item_id}-qdisc-{node}", item_id, "quic-qdisc", node, argv, None)
