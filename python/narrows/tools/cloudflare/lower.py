"""Cloudflare's own client from npm, and our server of its endpoints."""

from __future__ import annotations

from narrows.plan.capacity import BROWSER_SWITCH
from narrows.plan.lowering import Lowering, foreground
from narrows.plan.model import TrafficItem
from narrows.spec.traffic import Traffic
from narrows.tools.web_speed.lower import serve

CLIENT = ("node", "@checkout/tools/cloudflare/client/run.mjs")
"""In the package narrows."""
BROWSER_PROFILES = "/tmp"
"""In the guest: its own, and gone with it."""


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """The server, and Cloudflare's client."""
    server, at, certificate = serve(item, item_id, state)
    argv: tuple[str, ...] = (*CLIENT, "--server", f"{'https' if item['tls'] else 'http'}://{at}")
    if item["client"] != "node":
        argv += (BROWSER_SWITCH, item["client"], "--profile", f"{BROWSER_PROFILES}/{item_id}-profile")
    client = foreground(item, item_id, "cloudflare", argv, state)
    if item["tls"]:
        client = client.model_copy(update={"env": {"NODE_EXTRA_CA_CERTS": certificate}})
    return [server, client]
