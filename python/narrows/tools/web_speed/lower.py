"""Modelled web speed tests: our server of their endpoints, and the modelled clients."""

from narrows.plan.items import Endpoint, TrafficItem
from narrows.plan.lowering import Lowering, background, foreground, receives
from narrows.spec.traffic import Traffic
from narrows.units import NS_PER_S

HTTP_PORT, HTTPS_PORT, HTTP_NEXT_PORT = 80, 443, 8080


def serve(item: Traffic, item_id: str, state: Lowering) -> tuple[TrafficItem, str, tuple[Endpoint, ...], str]:
    """The server, where it listens (as text, and for the client), and where it leaves its certificate (if it
    has one)."""
    first = HTTPS_PORT if item["tls"] else HTTP_PORT
    port, at = state.listening(item, item_id, first, HTTP_NEXT_PORT)
    server_id = f"{item_id}-server"
    certificate = f"@out/{server_id}.pem"
    argv: tuple[str, ...] = ("@agent", "web-speed-server", "--listen", at)
    argv += ("--tls", "--write-cert", certificate) if item["tls"] else ()
    argv += ("--cca", item["cca"]) if item["cca"] else ()
    server = background(server_id, item_id, "web-speed-server", state.server, argv, at, cca=item["cca"])
    return server, at, receives(state.server_address, port, "tcp"), certificate


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    server, at, ends, certificate = serve(item, item_id, state)
    argv: tuple[str, ...] = ("@agent", "web-speed-client", "--server", at, "--model", item["model"])
    argv += ("--tests", ",".join(item["tests"]))
    if item["test_length"] is not None:
        argv += ("--duration-ms", str(item["test_length"].ns * 1000 // NS_PER_S))
    argv += ("--ca", certificate) if item["tls"] else ()
    argv += ("--cca", item["cca"]) if item["cca"] else ()
    return [server, foreground(item, item_id, "web_speed", argv, ends, state, cca=item["cca"])]
