"""Web speed tests: our server of their endpoints; Cloudflare's own client, or the modelled ones."""

from __future__ import annotations

from narrows.plan.lowering import Lowering, background, foreground
from narrows.plan.model import TrafficItem
from narrows.spec.traffic import Traffic
from narrows.units import NS_PER_S

HTTP_PORT, HTTP_NEXT_PORT = 80, 8080

JS_CLIENT = ("node", "@checkout/tests/interop/cloudflare-js/run.mjs")
"""Cloudflare's own client from npm, in the checkout of narrows."""


def _server(item: Traffic, item_id: str, state: Lowering) -> tuple[TrafficItem, str]:
    port = state.port(item, item_id, state.server, HTTP_PORT, HTTP_NEXT_PORT)
    at = f"{state.server_address}:{port}"
    argv: tuple[str, ...] = ("@agent", "web-speed-server", "--listen", at)
    argv += ("--cca", item["cca"]) if item["cca"] else ()
    return background(f"{item_id}-server", "web-speed-server", state.server, argv, at), at


def lower_cloudflare(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """The server, and Cloudflare's client."""
    server, at = _server(item, item_id, state)
    argv = (*JS_CLIENT, "--server", f"http://{at}")
    return [server, foreground(item, item_id, "cloudflare", argv, state)]


def lower_model(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """The server, and the modelled client."""
    server, at = _server(item, item_id, state)
    argv: tuple[str, ...] = ("@agent", "web-speed-client", "--server", at, "--model", item["model"])
    argv += ("--tests", ",".join(item["tests"]))
    if item["test_length"] is not None:
        argv += ("--duration-ms", str(item["test_length"].ns * 1000 // NS_PER_S))
    argv += ("--cca", item["cca"]) if item["cca"] else ()
    return [server, foreground(item, item_id, "web_speed", argv, state)]
