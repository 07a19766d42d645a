"""Cloudflare's own client from npm, and our server of its endpoints."""

from typing import Any

from narrows.plan.capacity import BROWSER_BYTES
from narrows.plan.items import TrafficItem
from narrows.plan.lowering import Lowering, foreground
from narrows.spec.traffic import Traffic
from narrows.tools.web_speed.lower import serve

CLIENT = ("node", "@checkout/tools/cloudflare/client/run.mjs")
"""In the package narrows."""
BROWSER_PROFILES = "/tmp"
"""In the guest: its own, and gone with it."""


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    server, at, ends, certificate = serve(item, item_id, state)
    argv: tuple[str, ...] = (*CLIENT, "--server", f"{'https' if item['tls'] else 'http'}://{at}")
    needs: dict[str, Any] = {"env": {"NODE_EXTRA_CA_CERTS": certificate}} if item["tls"] else {}
    if item["client"] != "node":
        argv += ("--browser", item["client"], "--profile", f"{BROWSER_PROFILES}/{item_id}-profile")
        needs |= {"programs": (*CLIENT[:1], item["client"]), "memory_bytes": BROWSER_BYTES}
    return [server, foreground(item, item_id, "cloudflare", argv, ends, state, **needs)]
